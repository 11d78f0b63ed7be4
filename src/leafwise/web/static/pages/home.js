// The first page: the games and their variants, each with a picture, and the games that were played here.

import { address } from "../address.js";
import { get, offers } from "../api.js";
import { h } from "../dom.js";
import { variantTitle } from "../games/index.js";
import { forgetPlayed, played } from "../played.js";
import { RULES, picture } from "../rules.js";

/** Games with their own page: options -> its address. */
const PAGES = { starship: (options) => address({ page: "ship", more: options }) };
/** Games that can be followed: the page and its title. */
const ELSEWHERE = { friday: ["follow", "Follow at a table"], threes: ["companion", "Follow on a phone"] };

export const title = () => "Games";

/** Returns the links of a game: its variants, other pages, and `more`. */
export function ways({ game, ids }, ...more) {
  return [
    h(
      "p",
      { class: "buttons" },
      Object.entries(ids).map(([short, options]) =>
        h("a", { class: "button main", href: PAGES[game]?.(options) ?? address({ page: "play", game, options }) }, variantTitle(short, options)),
      ),
    ),
    h(
      "p",
      { class: "buttons" },
      PAGES[game] && offers("gallery") && h("a", { class: "button main", href: "#/gallery" }, "Generated ships"),
      !PAGES[game] && h("a", { class: "button", href: address({ page: "analyse", game, options: Object.values(ids)[0] ?? {} }) }, "Analyse"),
      ELSEWHERE[game] && offers(ELSEWHERE[game][0]) && h("a", { class: "button", href: address({ page: ELSEWHERE[game][0], game }) }, ELSEWHERE[game][1]),
      more,
    ),
  ];
}

export async function open(main) {
  main.append(h("h1", {}, "Games"));
  const { games } = await get("api/games");
  main.append(
    h(
      "ul",
      { class: "cards" },
      games.map((one) => {
        const [name, about = ""] = one.title.split(/,(.*)/s),
          thumbnail = h("div", { class: `thumbnail ${one.game}` });
        picture(thumbnail, one.game, one.svg).catch(() => thumbnail.remove()); // the page works without it
        return h(
          "li",
          {},
          thumbnail,
          h("h2", {}, name),
          h("p", {}, about.trim()),
          ways(
            one,
            RULES[one.game] && h("a", { class: "button", href: address({ page: "rules", game: one.game }), "aria-label": `Rules of ${name}` }, "Rules"),
          ),
        );
      }),
    ),
    recent(games),
  );
}

/** Returns the list of games played in this browser, newest first. */
function recent(games) {
  const known = played().filter((one) => games.some(({ game }) => game === one.game));
  if (!known.length) return "";
  const place = h(
    "section",
    { "aria-label": "Played here" },
    h("h2", {}, "Played here"),
    h(
      "ul",
      { class: "played" },
      known.map((one) => h("li", {}, h("a", { class: "button", href: one.href }, one.title), ` ${new Date(one.when).toLocaleString()}, ${one.says} `)),
    ),
    h(
      "p",
      { class: "buttons" },
      h(
        "button",
        {
          onclick: () => {
            forgetPlayed();
            place.remove();
          },
        },
        "Forget these",
      ),
    ),
  );
  return place;
}
