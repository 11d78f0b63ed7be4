// The companion of Threes follows a game on a phone with /api/follow, which counts the deck. One tap tells where the tile entered, and
// one the next tile, unless only one is possible. The swipe is the recommended one, unless another is made on the board.

import { address, keepAddress } from "../address.js";
import { ask } from "../api.js";
import { betweenClicks, complain, h, trying } from "../dom.js";
import { paint, read } from "../games/threes.js";
import * as threes from "../games/threes.js";
import { hintList } from "../hints.js";
import { analyse } from "../analysis.js";

const SECONDS = 1.0;
const START = "0 0 0 0/0 0 0 0/0 0 0 0/0 0 0 0";
const FULL_DECK = " deck=4,4,4"; // the editor's default: omitted, so that the companion counts the deck of a new game

export const title = () => "Threes on a phone";

export async function open(main, target) {
  const page = new Companion(main, target);
  page.about = await ask("api/game", { game: "threes", options: target.options });
  if (target.start) await page.follow({ text: target.start, moves: target.moves });
  else page.setUp();
  return () => page.end();
}

class Companion {
  /** @type {HTMLElement} */ main;
  /** @type {any} the answer of /api/game */ about;
  /** @type {any} that of /api/follow */ now;

  constructor(main, target) {
    Object.assign(this, { main, now: { options: target.options, first: "", moves: [], state: null }, running: new AbortController() });
    this.show = betweenClicks(() => this.draw());
    this.keys = (event) => {
      if (event.key === "u") this.undo();
    };
    addEventListener("keydown", this.keys);
  }

  end() {
    this.running.abort();
    removeEventListener("keydown", this.keys);
  }

  /** Shows the editor for the first board. */
  setUp() {
    let text = `${START} next=1${FULL_DECK}`;
    const editor = h("div", {});
    threes.makeEditor(editor, this.about, text, (changed) => {
      text = changed;
    });
    this.main.replaceChildren(
      h("h1", {}, "Follow a game of Threes"),
      h("p", {}, "Choose a tile, tap its cells, then enter the next tile. In a new game (nine tiles) the page counts the deck."),
      editor,
      h(
        "p",
        { class: "buttons" },
        h("button", { class: "main", id: "follow", onclick: () => trying(() => this.follow({ line: text.replace(FULL_DECK, "") })) }, "Follow this game"),
      ),
    );
  }

  /** Begins with the answer of /api/follow to `what`: a typed board, or a game in progress. */
  async follow(what) {
    const answer = await ask("api/follow", { game: "threes", options: this.now.options, ...what });
    this.host = h("div", { class: "host" });
    this.board = threes.makeBoard(this.host, this.about, (name) => this.swipe(name));
    this.advice = h("p", { class: "status big", "aria-live": "polite", id: "status" });
    this.questions = h("div", { id: "asked" });
    this.hints = h("div", { id: "hints" });
    this.back = h("button", { onclick: () => trying(() => this.undo()), id: "undo" }, "Undo");
    this.main.replaceChildren(
      h(
        "div",
        { class: "companion" },
        this.advice,
        this.questions,
        h(
          "div",
          { class: "buttons" },
          this.back,
          h("a", { class: "button", id: "fresh", href: address({ page: "companion", game: "threes" }) }, "Another game"),
          h("a", { class: "button", id: "analyse" }, "Analyse"),
        ),
        this.host,
        this.hints,
      ),
    );
    this.changed(answer);
  }

  /** Returns the game of an answer after a line. It sends only the last position, so that long games take no longer. */
  async after({ options, first, moves, state }, line, signal) {
    const answer = await ask("api/follow", { game: "threes", options, text: state.text, line }, signal);
    return { ...answer, first, moves: [...moves, ...answer.moves] };
  }

  /** Continues with an answer of /api/follow. */
  changed(now) {
    Object.assign(this, { now, taking: null });
    const { options, first, moves, state, question } = now;
    this.running.abort();
    this.running = new AbortController();
    complain("");
    const target = { game: "threes", options, start: first, moves };
    keepAddress({ page: "companion", ...target });
    this.back.disabled = !moves.length;
    document.getElementById("analyse").setAttribute("href", address({ page: "analyse", ...target }));
    this.marks = {};
    this.show();
    this.questions.replaceChildren();
    if (state.over) this.advice.textContent = `Game over: ${state.points.toLocaleString("en")} points (${question.asks})`;
    else if (state.player === "chance") this.askChance(now);
    else trying(() => this.advise(this.running.signal));
  }

  draw() {
    const { moves, state } = this.now,
      at = moves.findLastIndex((name) => this.about.actions.includes(name));
    const last = moves.slice(Math.max(0, at)).map((name) => ({ name }));
    this.board.show(state, { live: state.player === 1, last, worths: null, shares: null, best: null, line: [], ...this.marks });
    this.hints.replaceChildren(
      this.marks.worths
        ? hintList(
            this.marks,
            (name) => name,
            (name) => this.swipe(name),
          )
        : "",
    );
  }

  /** Shows the best swipe of the search, and asks where the next tile enters. */
  async advise(signal) {
    const { options, state } = this.now;
    this.advice.textContent = "…";
    let lastBest = "";
    await analyse(
      { game: "threes", options },
      state.text,
      "best",
      SECONDS,
      (answer) => {
        this.marks = { ...answer, line: [] };
        this.advice.textContent = `Swipe ${answer.best.toUpperCase()}: ${answer.unit} ${answer.worth}${answer.no_unit && `; ${answer.no_unit}`}`;
        this.show();
        if (answer.best === lastBest) return;
        lastBest = answer.best;
        trying(() => this.lookAhead(answer.best, signal));
      },
      (stage) => {
        if (stage === "loading" && !lastBest) this.advice.textContent = "Loading the search …";
      },
      signal,
    ).catch((problem) => {
      if (problem.name !== "AbortError" && !lastBest) this.advice.textContent = "No answer.";
      throw problem;
    });
  }

  /** Asks what happened after a swipe that is not recorded yet. */
  async lookAhead(name, signal) {
    const after = await this.after(this.now, name, signal);
    if (signal.aborted) return;
    if (after.state.player === "chance") this.askChance(after);
    else
      this.questions.replaceChildren(
        h(
          "div",
          { class: "buttons taps" },
          h(
            "button",
            {
              // everything that followed was forced
              class: "tap",
              "data-outcome": name,
              onclick: () => this.changed(after),
            },
            `${name.toUpperCase()}, done`,
          ),
        ),
      );
  }

  /** Takes a swipe on the board instead of the recommended one. */
  swipe(name) {
    this.running.abort();
    this.running = new AbortController();
    this.advice.textContent = `You swiped ${name.toUpperCase()}`;
    trying(() => this.lookAhead(name, this.running.signal));
  }

  /** Asks for the outcome of chance after an answer: that of the game, or that of the recommended swipe. */
  askChance(after) {
    const { state, question } = after;
    const take = (name) =>
      trying(async () => {
        this.running.abort();
        this.running = this.taking = new AbortController();
        this.changed(await this.after(after, name, this.running.signal));
      });
    if (state.stage === "draw") {
      if (after === this.now) this.advice.textContent = "What comes next?";
      this.questions.replaceChildren(after === this.now ? "" : h("p", { class: "quiet" }, "Tap what comes next:"), nextButtons(question.choices, take));
    } else this.questions.replaceChildren(h("p", { class: "quiet" }, "Tap where the new tile entered:"), entryBoard(state, question.choices, take));
  }

  /** Takes back the last tap, even one without an answer yet. */
  async undo() {
    if (this.taking) return this.changed(this.now);
    const { options, first, moves } = this.now;
    if (!moves.length) return;
    this.running.abort();
    this.changed(await ask("api/follow", { game: "threes", options, text: first, moves, undo: true }));
  }
}

/** Returns a button for each possible next tile. */
function nextButtons(choices, take) {
  return h(
    "div",
    { class: "buttons taps", role: "group", "aria-label": "Next tile" },
    [...choices]
      .sort((a, b) => Number.parseInt(a.name, 10) - Number.parseInt(b.name, 10) || 0)
      .map((one) =>
        h(
          "button",
          { class: "tap", "data-outcome": one.name, onclick: () => take(one.name), style: `background:${paint(one.name)[0]};color:${paint(one.name)[1]}` },
          one.name,
        ),
      ),
  );
}

/** Returns the board after the swipe, with buttons where the tile may have entered: one for each value of a bonus tile. */
function entryBoard(state, choices, take) {
  const { cells } = read(state.text),
    byCell = new Map();
  for (const one of choices) {
    const [tile, place] = one.name.split("@"),
      [row, column] = place.split(",").map(Number),
      k = 4 * row + column;
    byCell.set(k, [...(byCell.get(k) || []), { name: one.name, tile }]);
  }
  return h(
    "div",
    { class: "entry", role: "group", "aria-label": "Where the tile entered" },
    cells.map((tile, k) => {
      const [back, ink] = paint(tile),
        here = byCell.get(k);
      if (!here) return h("span", { class: "cell", style: `background:${back};color:${ink}` }, tile === "0" ? "" : tile);
      return h(
        "span",
        { class: "cell places" },
        here.map((one) =>
          h(
            "button",
            {
              class: "tap",
              "data-outcome": one.name,
              "aria-label": threes.outcomeTitle(one.name),
              onclick: () => take(one.name),
              style: `background:${paint(one.tile)[0]};color:${paint(one.tile)[1]}`,
            },
            one.tile,
          ),
        ),
      );
    }),
  );
}
