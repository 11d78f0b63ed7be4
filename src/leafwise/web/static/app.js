// The shell: opens the page of the address. A page is a module with `title` and `open(main, target)`, which may return a function that
// ends its work. Pages are loaded at first use.

import { readAddress } from "./address.js";
import { Problem, get, load, offers } from "./api.js";
import { complain, h, trying } from "./dom.js";
import { keep, kept } from "./storage.js";

const PAGES = {
  "": () => import("./pages/home.js"),
  rules: () => import("./pages/rules.js"),
  play: () => import("./pages/play.js"),
  analyse: () => import("./pages/analyse.js"),
  companion: () => import("./pages/companion.js"),
  review: () => import("./pages/review.js"),
  follow: () => import("./pages/follow.js"),
  ship: () => import("./pages/ship.js"),
  gallery: () => import("./pages/gallery.js"),
  train: () => import("./pages/train.js"),
};
/** Links at the top of every page: [address, title]. */
const TOP = [
  ["#/", "Games"],
  ["#/review", "Curve of a game"],
  ["#/ship", "Starship"],
  ["#/train", "Training"],
];

let leave = () => {};
let turn = 0;

async function route() {
  const number = ++turn;
  leave();
  leave = () => {};
  complain("");
  const target = readAddress();
  const main = document.getElementById("main");
  const nav = document.getElementById("nav");
  nav.replaceChildren(
    ...TOP.filter(([href]) => offers(href.slice(2))).map(([href, title]) =>
      h("a", { href, "aria-current": href === `#/${target.page}` ? "page" : null }, title),
    ),
  );
  main.replaceChildren(h("p", { class: "quiet" }, "…"));
  const place = h("div", { class: "page" }); // one element for each page: a page that is left while it loads continues unseen
  try {
    if (!PAGES[target.page] || !offers(target.page))
      throw new Problem(
        `expected a page among ${Object.keys(PAGES)
          .filter((page) => page && offers(page))
          .join(", ")}, got '${target.page}'`,
        404,
      );
    const page = await load(PAGES[target.page]);
    if (number !== turn) return;
    document.title = `${page.title(target)} – Leafwise`;
    const loading = h("p", { class: "loading" }, "Loading. A new game is compiled first, which may take a minute …");
    main.replaceChildren(place, loading);
    const end = await page.open(place, target).finally(() => loading.remove());
    if (number === turn) leave = end || leave;
    else end?.();
  } catch (problem) {
    if (number !== turn || problem.name === "AbortError") return;
    main.replaceChildren(
      h("h1", {}, "This page did not open"),
      h("p", { role: "alert" }, problem.message),
      h(
        "p",
        { class: "buttons" },
        h("button", { class: "main", onclick: () => trying(() => get("api/games").then(() => location.reload())) }, "Try again"),
        h("a", { class: "button", href: "#/" }, "All games"),
      ),
    );
    if (problem.constructor.name !== "Problem") throw problem;
  }
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});

const THEMES = { "": "as the system", dark: "dark", light: "light" };
const theme = document.getElementById("theme");

function wear(name) {
  document.documentElement.dataset.theme = name;
  keep("theme", name);
  theme.textContent = { "": "◐", dark: "●", light: "○" }[name];
  theme.title = theme.ariaLabel = `Colours: ${THEMES[name]}`;
}
theme.addEventListener("click", () => {
  const names = Object.keys(THEMES);
  wear(names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length]);
});
wear(kept("theme") in THEMES ? kept("theme") : "");

addEventListener("hashchange", route);
route();
