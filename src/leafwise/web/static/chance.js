// Chance as people see it: what was drawn with its odds, and a list to tell it by hand.

import { h } from "./dom.js";

const percent = (p) => `${(100 * p).toFixed(p < 0.0995 ? 1 : 0)} %`;

/** Returns what chance did in the last steps, with the odds of all that it could have done where those are few. */
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

/** Returns buttons for the outcomes of a chance stage, the likeliest first. */
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
