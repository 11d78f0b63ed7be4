// Chance on the page: drawn outcomes with their probabilities, and buttons to choose an outcome by hand.

import { h } from "./dom.js";

const percent = (p) => `${(100 * p).toFixed(p < 0.0995 ? 1 : 0)} %`;

/** Returns the outcomes of chance in the last steps, with all probabilities if there are few. */
export function oddsLine(last, module) {
  return last
    .filter((step) => step.player === "chance")
    .map((step) => {
      const odds = Object.entries(step.odds || {}).sort((a, b) => b[1] - a[1]);
      const name = (one) => (one === step.name && step.words) || (module.outcomeTitle?.(one, step.stage) ?? one);
      return h(
        "p",
        { class: "luck" },
        `${step.stage || "chance"}: `,
        h("strong", {}, name(step.name)),
        step.probability ? ` (${percent(step.probability)})` : "",
        odds.length > 1 &&
          h(
            "span",
            { class: "odds" },
            odds.map(([one, p]) => h("span", { class: one === step.name ? "odd drawn" : "odd", style: `--p:${p}` }, `${name(one)} ${percent(p)}`)),
          ),
      );
    });
}

/** Returns buttons for the outcomes of a chance node, likeliest first. */
export function chanceByHand(state, act, module = {}) {
  const outcomes = [...state.outcomes].sort((a, b) => b.probability - a.probability);
  return h(
    "div",
    { class: "buttons", role: "group", "aria-label": `What chance does: ${state.stage}` },
    outcomes.map((one) =>
      h(
        "button",
        { onclick: () => act(one.name), "data-outcome": one.name },
        `${module.outcomeTitle?.(one.name, state.stage) ?? one.words ?? one.name} `,
        h("small", {}, percent(one.probability)),
      ),
    ),
  );
}
