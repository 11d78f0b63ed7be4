// The bar beside a board: the first player's chance to win, or in a game for one the chance or score that is expected.

import { h } from "./dom.js";

/** Returns the bar. `show(answer)` takes an analysis or an exact answer in its form (`player`, `chance`), or null, which hides it. */
export function evaluationBar(about, module) {
  const element = h("div", { class: "evaluation", role: "meter", "aria-valuemin": 0, "aria-valuemax": 100, hidden: true }, h("i", {}), h("b", {}));
  const who = about.players === 2 ? (module.players || ["Player 1"])[0] : "Chance to win";
  return {
    element,
    show(answer) {
      const chance = chanceOf(answer);
      element.hidden = chance === null;
      if (chance === null) return;
      const percent = Math.round(100 * (answer.player === 2 ? 1 - chance : chance));
      element.setAttribute("aria-valuenow", percent);
      element.setAttribute("aria-label", who);
      element.firstChild.style.width = `${percent}%`;
      element.lastChild.textContent = `${who} ${percent} %`;
    },
  };
}

/** Returns the chance of the player who acts, null where an answer knows none. */
function chanceOf(answer) {
  if (answer?.chance !== undefined) return answer.chance;
  return answer?.unit.startsWith("chance") ? answer.value_in_unit : null;
}
