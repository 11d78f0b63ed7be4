// Friday: the cards on the table, which are buttons for their actions, and a button with words for every other action. The editor has a
// list of cards for each pile. Text: words NAME=VALUE in any order; a pile lists card codes with numbers, `S1*5,S2*7`; on the table !
// marks a used card.

import { h, sentence } from "../dom.js";
import { tint } from "../tint.js";
import { CARDS } from "./cards.js";

const HAZARDS = { W: "wreck", E: "exploring", F: "further", N: "animals", C: "cannibals" }; // by the first letter of a code
const TURNS = ["choose", "fight", "remove", "target", "offer", "arrange", "order", "pirate", "aging", "hazard", "card", "won", "lost"];
const PHASES = ["green", "yellow", "red", "pirates"];
const PILES = {
  stack: ["Stack, in unknown order", "SWEFNCGD"],
  discard: ["Discard", "SWEFNCGD"],
  left: ["On the table, left (free cards)", "SWEFNCGD"],
  right: ["On the table, right (paid cards)", "SWEFNCGD"],
  active: ["Hazards revealed or fought", "WEFNC"],
  away: ["Hazard discard", "WEFNC"],
  hazards: ["Hazard stack", "WEFNC"],
  aging: ["Aging pile", "GD"],
};
const MORE_PILES = {
  top: ["Known on top of the stack, the next first", "SWEFNCGD"],
  bottom: ["Known under the stack, the highest first", "SWEFNCGD"],
  look: ["Looked at", "SWEFNCGD"],
  down: ["Face-down on the table", "SWEFNCGD"],
};
const HOMES = ["stack", "hazards", "aging"]; // the cards' first piles: a text must say that such a pile is empty
const IN_ORDER = ["active", "top", "bottom", "look"];
const NUMBERS = { life: "Life", free: "Free cards drawn" };
const FIELDS = { pirates: "Pirates (P1 to P10)", fought: "Fought", beaten: "Beaten" };
const MORE_FIELDS = {
  ability: "Ability under way",
  acting: "by the card",
  steps: "steps left",
  uses: "Abilities used",
  lowered: "Cards that lower the phase",
  points: "Points left for removing cards",
  from: "the lowest card to remove",
  to: "Where the next card goes",
  debt: "Debt",
};

const ASKS = {
  choose: "Choose what to fight",
  fight: "Fight",
  target: "Choose a card",
  offer: "Go on?",
  arrange: "Discard one of these?",
  order: "Which card goes back on top?",
  remove: "Lost: remove cards from the game?",
  won: "Won",
  lost: "Lost",
};
const SAID = /^(pirate|hazard (?!discard)|first:|second:|fight: total|next card|removal points|final score)/; // lines of the board that are shown

const wordsOf = (text) =>
  Object.fromEntries(
    text
      .split(/\s+/)
      .filter(Boolean)
      .map((word) => word.split(/=(.*)/s)),
  );

/** Returns the cards of a pile one by one. */
const each = (value = "", name = "") => cardsIn(value, name).flatMap(([token, n]) => Array.from({ length: n }, () => token));

export const outcomeTitle = (name) => CARDS[name] ?? name;

export function makeBoard(host, about, act) {
  /** Returns a card, as a button if it has an action. */
  function card(token, state, marks, name) {
    const code = /^[A-Z]\d+/.exec(token)[0],
      [, title, value, what = ""] = /^(.*?) (-?\d+)(?: \((.*)\))?$/.exec(CARDS[code]);
    const words = state.words[name],
      worth = marks.worths?.[name];
    const does = words
      ?.replace(CARDS[code], "")
      .replace(/ on the (left|right)/, "")
      .replace(/\s+/g, " ")
      .trim();
    return h(
      words ? "button" : "div",
      {
        class: ["card", /[GD]/.test(code[0]) && "aging", token.includes("!") && "used", token.includes("^") && "doubled", marks.best === name && "best"]
          .filter(Boolean)
          .join(" "),
        "data-action": words ? name : null,
        disabled: words && !marks.live,
        onclick: words ? () => act(name) : null,
        style: words && tint(marks.shares?.[name]) ? `background:${tint(marks.shares[name])}` : null,
      },
      h("b", {}, value),
      h("span", {}, title),
      h("small", {}, [what, token.includes("^") && "doubled", token.includes("!") && "used"].filter(Boolean).join(", ")),
      words && h("em", {}, does, worth ? ` ${worth.replace(" ", "\u00a0")}` : ""),
    );
  }
  const row = (title, tokens, state, marks, first) =>
    tokens.length
      ? h(
          "section",
          { "aria-label": title },
          h("h2", {}, title),
          h(
            "div",
            { class: "hand" },
            tokens.map((token, k) =>
              card(
                token,
                state,
                marks,
                ["use", "card"].map((verb) => `${verb}${first + k}`).find((name) => first >= 0 && name in state.words),
              ),
            ),
          ),
        )
      : "";

  function show(state, marks) {
    const words = wordsOf(state.text),
      lines = state.board.split("\n"),
      looks = ["arrange", "order"].includes(words.turn);
    const left = each(words.left),
      right = each(words.right),
      shown = lines.filter((line) => SAID.test(line));
    const isCard = (name) => /^(use|card)\d+$/.test(name);
    const piles = Object.entries(PILES).filter(([name]) => !["left", "right", "active"].includes(name));
    host.replaceChildren(
      h(
        "div",
        { class: `board friday ${words.phase}` },
        h("p", { class: "phase" }, h("strong", {}, `Life ${/life (\d+)/.exec(lines[0])[1]}`), ` of ${/\/(\d+)/.exec(lines[0])[1]} · ${words.phase} phase`),
        h(
          "ul",
          {},
          shown.map((line) => h("li", {}, sentence(line.replace(/(: )?hazard [WEFNC]\d+ /, (_, of) => of ?? "hazard: ").replace(/pirate P/, "pirate ")))),
        ),
        row("On the left (free cards)", left, state, marks, looks ? -1 : 0),
        row("On the right (paid cards)", right, state, marks, looks ? -1 : left.length),
        row("Looked at", each(words.look, "look"), state, marks, looks ? 0 : -1),
        h("p", { class: "asks" }, ASKS[words.turn] ?? ""),
        h(
          "div",
          { class: "buttons", role: "group", "aria-label": "Actions" },
          marks.live || marks.worths
            ? state.actions
                .filter((name) => !isCard(name))
                .map((name) =>
                  h(
                    "button",
                    {
                      class: marks.best === name ? "best" : null,
                      "data-action": name,
                      disabled: !marks.live,
                      onclick: () => act(name),
                      style: tint(marks.shares?.[name]) ? `background:${tint(marks.shares[name])}` : null,
                    },
                    state.words[name],
                    marks.worths?.[name] ? h("strong", {}, ` ${marks.worths[name]}`) : "",
                  ),
                )
            : "",
        ),
        h(
          "details",
          { open: host.querySelector("details")?.open },
          h("summary", {}, piles.map(([name, [title]]) => `${title.split(",")[0]} ${each(words[name] === "none" ? "" : words[name]).length}`).join(" · ")),
          h(
            "dl",
            {},
            piles.map(([name, [title, letters]]) => [
              h("dt", {}, title),
              h(
                "dd",
                {},
                cardsIn(words[name] || "", name)
                  .map(([token, n]) => `${n > 1 ? `${n} × ` : ""}${letters === "WEFNC" ? `${HAZARDS[token[0]]} for ` : ""}${titleOf(token)}`)
                  .join("; ") || "none",
              ),
            ]),
          ),
        ),
      ),
    );
  }
  return { show: (state, marks) => show({ words: {}, ...state }, marks) };
}

/** Returns a card in words: its name and its state on the table. */
function titleOf(token) {
  const [, code, used, by] = /^([A-Z]\d+)(!?)(\^.*)?$/.exec(token) || [];
  if (!CARDS[code]) return token;
  return [CARDS[code], used && "used", by && `doubled${by.length > 1 ? ` by ${by.slice(1)}` : ""}`].filter(Boolean).join(", ");
}

/** Returns a pile's cards: [[code and marks, number]], one by one if the pile is ordered. */
function cardsIn(value, name) {
  const listed =
    value === "none"
      ? []
      : value
          .split(",")
          .filter(Boolean)
          .map((one) => {
            const [, token, n] = /^(.*?)(?:\*(\d+))?$/.exec(one);
            return [token, Number(n || 1)];
          });
  return IN_ORDER.includes(name) ? listed.flatMap(([token, n]) => Array.from({ length: n }, () => [token, 1])) : listed;
}

/** Returns a pile as the value of its word. */
function written(cards, name) {
  const left = cards.filter(([, n]) => n > 0).map(([token, n]) => (n > 1 ? `${token}*${n}` : token));
  return left.join(",") || (HOMES.includes(name) ? "none" : "");
}

/** Returns the editor of a pile: its cards with - and +, a list of cards to add, and the pile as text. */
function pileEditor(words, name, [title, letters], tell) {
  const head = h("h3", {}),
    list = h("ul", {});
  const field = h("input", { type: "text", spellcheck: "false", "aria-label": `${title}, as text`, onchange: () => take(field.value.trim()) });
  const codes = Object.keys(CARDS).filter((code) => letters.includes(code[0]));
  const adding = h(
    "select",
    { "aria-label": `${title}: add a card`, onchange: () => add(adding.value) },
    h("option", { value: "" }, "add a card …"),
    codes.map((code) => h("option", { value: code }, `${faceOf(code)} · ${code}`)),
  );

  function faceOf(token) {
    return letters === "WEFNC" && HAZARDS[token[0]] ? `${HAZARDS[token[0]]}: ${titleOf(token)}` : titleOf(token);
  }
  function take(value) {
    words[name] = value;
    draw();
    tell();
  }
  function change(cards, k, by) {
    const token = cards[k][0],
      pressed = list.querySelector(":focus")?.dataset.by;
    if (by > 0 && IN_ORDER.includes(name)) cards.splice(k + 1, 0, [token, 1]);
    else cards[k][1] += by;
    take(written(cards, name));
    if (pressed) (list.querySelector(`[data-card="${token}"] [data-by="${pressed}"]`) || adding).focus();
  }
  function add(code) {
    const cards = cardsIn(words[name] || "", name),
      k = IN_ORDER.includes(name) ? -1 : cards.findIndex(([token]) => token === code);
    adding.value = "";
    if (k >= 0) cards[k][1] += 1;
    else if (code) cards.push([code, 1]);
    take(written(cards, name));
  }
  function draw() {
    const cards = cardsIn(words[name] || "", name),
      total = cards.reduce((sum, [, n]) => sum + n, 0);
    head.replaceChildren(title, h("small", { class: "quiet" }, ` ${total} ${total === 1 ? "card" : "cards"}`));
    list.replaceChildren(
      ...cards.map(([token, n], k) =>
        h(
          "li",
          { "data-card": token },
          h("button", { type: "button", "data-by": -1, "aria-label": `${title}: one ${titleOf(token)} fewer`, onclick: () => change(cards, k, -1) }, "−"),
          h("button", { type: "button", "data-by": 1, "aria-label": `${title}: one more ${titleOf(token)}`, onclick: () => change(cards, k, 1) }, "+"),
          h("span", {}, n > 1 ? `${n} × ` : "", faceOf(token), " ", h("small", { class: "quiet" }, token)),
        ),
      ),
    );
    field.value = words[name] || "";
  }
  draw();
  return h("section", { class: "pile", "data-pile": name, "aria-label": title }, head, list, adding, field);
}

export function makeEditor(host, about, text, changed) {
  const words = Object.fromEntries(
    text
      .split(/\s+/)
      .filter(Boolean)
      .map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)]),
  );
  const tell = () =>
    changed(
      Object.entries(words)
        .filter(([, value]) => value !== "")
        .map(([name, value]) => `${name}=${value}`)
        .join(" "),
    );
  const set = (name) => (event) => {
    words[name] = event.target.value.trim();
    tell();
  };
  const choice = (title, name, values) =>
    h(
      "label",
      {},
      `${title} `,
      h(
        "select",
        { name, onchange: set(name) },
        values.map((value) => h("option", { value, selected: words[name] === value }, value)),
      ),
    );
  const number = ([name, title]) => h("label", {}, `${title} `, h("input", { type: "number", name, min: 0, value: words[name] || 0, onchange: set(name) }));
  const field = ([name, title]) => h("label", {}, `${title} `, h("input", { type: "text", name, size: 8, value: words[name] || "", onchange: set(name) }));
  const piles = (which) =>
    h(
      "div",
      { class: "piles" },
      Object.entries(which).map(([name, about]) => pileEditor(words, name, about, tell)),
    );
  const isUnderWay = Object.keys({ ...MORE_PILES, ...MORE_FIELDS }).some((name) => words[name]);
  host.append(
    h(
      "p",
      { class: "fields" },
      choice("Turn", "turn", TURNS),
      " ",
      choice("Phase", "phase", PHASES),
      " ",
      Object.entries(NUMBERS).map(number),
      " ",
      Object.entries(FIELDS).map(field),
    ),
    h("p", { class: "quiet" }, "Cards that are in no pile have left the game."),
    piles(PILES),
    h(
      "details",
      { open: isUnderWay },
      h("summary", {}, "Cards whose place is known, an ability under way"),
      piles(MORE_PILES),
      h("p", { class: "fields" }, Object.entries(MORE_FIELDS).map(field)),
    ),
  );
  return {};
}
