// The rules of a game in half a page, with a picture and links to play.

import { address } from "../address.js";
import { Problem, get } from "../api.js";
import { h } from "../dom.js";
import { RULES, picture } from "../rules.js";
import { ways } from "./home.js";

export const title = ({ game }) => `Rules of ${game}`;

export async function open(main, { game }) {
  const { games } = await get("api/games"),
    one = games.find((other) => other.game === game);
  if (!one) throw new Problem(`expected a game among ${games.map((other) => other.game).join(", ")}, got '${game}'`, 400);
  const [name, about] = one.title.split(/,(.*)/s),
    entry = RULES[game],
    host = h("div", { class: "host" });
  document.title = `Rules of ${name} – Leafwise`;
  main.append(
    h("h1", {}, `Rules of ${name}`),
    h(
      "div",
      { class: "game" },
      host,
      h(
        "section",
        { "aria-label": "Rules" },
        entry
          ? [
              h("p", { class: "big" }, entry.goal),
              h(
                "ul",
                { class: "rules" },
                entry.rules.map((rule) => h("li", {}, rule)),
              ),
              h("p", {}, h("strong", {}, "A first hint. "), entry.hint),
            ]
          : h("p", {}, about),
        ways(one),
        h("p", {}, h("a", { href: address({ page: "" }) }, "All games")),
      ),
    ),
  );
  await picture(host, game);
}
