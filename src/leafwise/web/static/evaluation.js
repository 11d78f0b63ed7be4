// The bar beside a board: the first player's chance to win, or in a single-player game the chance to win or the expected score.

import { h } from "./dom.js";

/**
 * Returns the bar. `show(answer)` takes an analysis, an exact result as {player, chance}, or a final score as {unit, value_in_unit,
 * worth}; null hides the bar. `most` is the game's best score if known.
 */
export function evaluationBar(about, module, most = 0) {
  const element = h("div", { class: "evaluation", role: "meter", "aria-valuemin": 0, hidden: true }, h("i", {}), h("b", {}));
  const who = about.players === 2 ? (module.players || ["Player 1"])[0] : "Chance to win";
  return {
    element,
    show(answer) {
      const chance = chanceOf(answer),
        score = answer?.value_in_unit ?? null;
      element.hidden = chance === null && score === null;
      if (element.hidden) return;
      if (chance !== null) {
        const percent = Math.round(100 * (answer.player === 2 ? 1 - chance : chance));
        return draw(who, percent, 100, `${percent} %`);
      }
      most = Math.max(most, score); // the scale of scores goes from 0 to the best score of this game so far
      return draw(answer.unit[0].toUpperCase() + answer.unit.slice(1), score, most, answer.worth);
    },
  };

  function draw(label, value, full, text) {
    element.setAttribute("aria-valuenow", value);
    element.setAttribute("aria-valuemax", full);
    element.setAttribute("aria-label", label);
    element.firstChild.style.width = `${full ? Math.max(0, (100 * value) / full) : 0}%`;
    element.lastChild.textContent = `${label} ${text}`;
  }
}

/** Returns the chance to win of the player who acts, null if an answer has none. */
function chanceOf(answer) {
  if (answer?.chance !== undefined) return answer.chance;
  return answer?.unit.startsWith("chance") ? answer.value_in_unit : null;
}
