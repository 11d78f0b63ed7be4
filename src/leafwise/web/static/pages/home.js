// The first page: the games and their variants.

import { address } from "../address.js";
import { get } from "../api.js";
import { h } from "../dom.js";
import { variantTitle } from "../games/index.js";

/** Games with a page of their own: where a variant of options is built. */
const PAGES = { starship: (options) => address({ page: "ship", more: options }) };
/** Games that are played elsewhere and followed here. */
const ELSEWHERE = { friday: ["#/follow/friday", "At the table"] };

export const title = () => "Games";

export async function open(main) {
  main.append(h("h1", {}, "Games"));
  const { games } = await get("api/games");
  main.append(h("ul", { class: "cards" }, games.map((one) => {
    const [name, about = ""] = one.title.split(/,(.*)/s);
    return h("li", {}, h("h2", {}, name), h("p", {}, about.trim()),
      h("p", { class: "buttons" }, Object.entries(one.ids).map(([short, options]) =>
        h("a", { class: "button", href: PAGES[one.game]?.(options) ?? address({ page: "play", game: one.game, options }) },
          variantTitle(short, options))),
      ELSEWHERE[one.game] && h("a", { class: "button", href: ELSEWHERE[one.game][0] }, ELSEWHERE[one.game][1])));
  })));
}
