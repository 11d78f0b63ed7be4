// Moves as a list, best first: values and differences from the best.

import { h } from "./dom.js";
import { withDifference } from "./analysis.js";
import { tint } from "./tint.js";

const HINTS = 5; // maximum number of moves

/** Returns the best moves of an analysis as buttons that call act(name); `words(name)` is their text. */
export function hintList({ worths, action_values: values, differences, shares, best }, words, act) {
  const names = Object.keys(worths ?? {}).sort((a, b) => Number(b === best) - Number(a === best) || values[b] - values[a]);
  return h(
    "ol",
    { class: "hints", "aria-label": "Best moves" },
    names
      .slice(0, HINTS)
      .map((name) =>
        h(
          "li",
          {},
          h(
            "button",
            { class: name === best ? "best" : null, onclick: () => act(name), style: tint(shares?.[name]) ? `background:${tint(shares[name])}` : null },
            h("b", {}, words(name)),
            " ",
            h("span", {}, withDifference(worths[name], differences?.[name])),
          ),
        ),
      ),
  );
}
