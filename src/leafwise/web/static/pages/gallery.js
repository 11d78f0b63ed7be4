// The generated ships of an export: pictures, and the command that makes a ship again.

import { get } from "../api.js";
import { h } from "../dom.js";

export const title = () => "Generated ships";

export async function open(main) {
  const { ships } = await get("api/gallery"),
    presets = [...new Set(ships.map((one) => one.preset))];
  main.append(
    h("h1", {}, "Generated ships"),
    h("p", {}, `${ships.length} ships of the generator, from the smallest hulls to the largest. Preset and seed make a ship again:`),
    h("p", {}, h("code", {}, "leafwise ship gen --preset scout --seed 0 --svg ship.svg")),
    h(
      "p",
      { class: "buttons" },
      presets.map((preset) => h("button", { onclick: () => document.getElementById(preset).scrollIntoView() }, preset)),
    ),
    ...presets.map((preset) =>
      h(
        "section",
        { "aria-labelledby": preset },
        h("h2", { id: preset }, `Preset ${preset}`),
        h(
          "ul",
          { class: "ships" },
          ships
            .filter((one) => one.preset === preset)
            .map(({ seed, quality, url }) =>
              h(
                "li",
                {},
                h("a", { href: url }, h("img", { src: url, alt: `${preset} of seed ${seed}`, loading: "lazy" })),
                `Seed ${seed}, quality ${quality.toFixed(3)}`,
              ),
            ),
        ),
      ),
    ),
  );
}
