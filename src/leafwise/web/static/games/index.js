// The modules that draw the games. A module exports
//
//   makeBoard(host, about, act) -> {show(state, marks)}
//       Adds the board to the element `host`. `about` is the answer of /api/game. The board calls `act(name)` when a person chooses
//       a legal action, or an outcome of chance by hand. `show` draws a state (the answer of /api/state, whose `text` is the
//       position in the game's own words) with
//         marks.worths   {action: its value as text}, or null
//         marks.shares   {action: 1 for the best, 0 and less for a blunder}, or null: colours of actions
//         marks.best     name of the best action, or null
//         marks.line     names of later moves and outcomes of chance (arrows or numbers), or []
//         marks.last     the steps from the last decision on: [{name, player, odds?}]
//         marks.live     whether the board takes clicks
//       A board with its own keys listens on `host` and makes it focusable.
//   makeEditor(host, about, text, changed) -> {}   (optional)
//       A board to set up by hand; calls changed(text) after every change. The server checks the text.
//   outcomeTitle(name, stage)  an outcome of chance in words (optional)
//   players      names of the players in order (optional)
//   variants     short id -> title (optional)
//
// A game without a module gets `any.js`: the server's drawing, and a button for each action.

import { load } from "../api.js";

const MODULES = {
  cassis: () => import("./cassis.js"),
  friday: () => import("./friday.js"),
  threes: () => import("./threes.js"),
  trap: () => import("./trap.js"),
  trilobite: () => import("./trilobite.js"),
};

const VARIANTS = {
  Trilobite: "3×3, three in a row",
  Trilobite5x5: "5×5, four in a row",
  Trilobite7x6: "Connect Four",
  Cassis: "6 points",
  Cassis7: "7 points",
  Cassis8: "8 points",
  Threes: "Threes",
  Trap: "7×7",
  StarshipPlace: "Scout",
  StarshipPlaceClassic: "Classic",
  StarshipPlaceCruiser: "Cruiser",
  Friday: "Level 1",
  FridayLevel2: "Level 2",
  FridayLevel3: "Level 3",
  FridayLevel4: "Level 4",
};

/** Loads the module of a game. */
export function gameModule(name) {
  return load(MODULES[name] || (() => import("./any.js")));
}

/** Returns the title of a variant. */
export function variantTitle(short, options) {
  const listed = Object.entries(options)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
  return VARIANTS[short] || listed || "play";
}

/** Returns the title of a page about a variant, of which `about` is the answer of /api/game. */
export function titleOf(about) {
  const { ids, given_options: options } = about,
    name = about.title.split(/,| \(/)[0];
  const short = Object.keys(ids).find((one) => JSON.stringify(ids[one]) === JSON.stringify(options));
  const variant = variantTitle(short, options);
  return [name, "play"].includes(variant) || (Object.keys(ids).length < 2 && short) ? name : variant === "Connect Four" ? variant : `${name}, ${variant}`;
}
