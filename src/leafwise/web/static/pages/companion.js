// The companion of Threes: follows a game on a phone. One tap says where the tile entered, one what comes next; where only one thing
// is possible nobody is asked. The swipe is the recommended one, unless another is swiped or tapped on the board.

import { address, keepAddress } from "../address.js";
import { ask } from "../api.js";
import { complain, h, trying } from "../dom.js";
import { paint, read } from "../games/threes.js";
import * as threes from "../games/threes.js";
import { Session } from "../session.js";
import { analyse, shares } from "../thinking.js";

const SECONDS = 1.0;
const START = "0 0 0 0/0 0 0 0/0 0 0 0/0 0 0 0";

export const title = () => "Threes on a phone";

export async function open(main, told) {
  const page = new Companion(main, told);
  if (told.start) await page.follow(told);
  else page.setUp();
  return () => page.end();
}

class Companion {
  constructor(main, told) {
    Object.assign(this, { main, told, running: new AbortController() });
    this.keys = (event) => { if (event.key === "u") this.undo(); };
    addEventListener("keydown", this.keys);
  }

  end() {
    this.running.abort();
    removeEventListener("keydown", this.keys);
  }

  /** Asks for the board that the game begins with. */
  async setUp() {
    const variant = { game: "threes", options: this.told.options };
    const about = await ask("api/game", variant);
    let text = `${START} next=1 deck=4,4,4`;
    const editor = h("div", {});
    threes.makeEditor(editor, about, text, (changed) => { text = changed; });
    this.main.replaceChildren(h("h1", {}, "Follow a game of Threes"),
      h("p", {}, "Choose a tile, tap the cells where it lies, then say which tile comes next. In a new game (nine tiles) the deck is counted for you."),
      editor, h("p", { class: "buttons" }, h("button", { class: "main", id: "follow", onclick: () => trying(async () => {
        const told = { ...this.told, page: "companion", game: "threes", start: counted(text), moves: [] };
        await this.follow(told);
      }) }, "Follow this game")));
  }

  async follow(told) {
    this.session = await Session.open({ ...told, game: "threes" }, null);
    this.session.startGiven = true;
    await this.settleAlone();
    this.host = h("div", { class: "host" });
    this.board = threes.makeBoard(this.host, this.session.about, (name) => this.swipe(name));
    this.advice = h("p", { class: "status big", "aria-live": "polite", id: "status" });
    this.asked = h("div", { id: "asked" });
    this.back = h("button", { onclick: () => this.undo(), id: "undo" }, "Undo");
    this.main.replaceChildren(h("div", { class: "companion" }, this.advice, this.asked, h("div", { class: "buttons" }, this.back,
      h("a", { class: "button", id: "fresh", href: address({ page: "companion", game: "threes" }) }, "Another game"),
      h("a", { class: "button", id: "analyse" }, "Analyse")), this.host));
    this.changed();
  }

  /** Takes every act of chance that is the only one possible. */
  async settleAlone() {
    const { session } = this;
    while (session.state.player === "chance" && session.state.outcomes.length === 1) await session.play(session.state.outcomes[0].name);
  }

  changed() {
    const { session } = this, { state } = session;
    this.running.abort();
    this.running = new AbortController();
    complain("");
    keepAddress({ page: "companion", ...session.told });
    this.back.disabled = !session.steps.length;
    document.getElementById("analyse").href = address({ page: "analyse", ...session.told });
    this.marks = {};
    this.show();
    if (state.over) this.advice.textContent = `Game over: ${Math.round(state.returns).toLocaleString("en")} points since the start`;
    else if (state.player === "chance") this.askChance(state, []);
    else trying(() => this.advise(this.running.signal));
  }

  show() {
    const { state } = this.session;
    this.board.show(state, { live: state.player === 1, last: this.session.last, worths: null, shares: null, best: null, line: [], ...this.marks });
  }

  /** Tells the best swipe as the search finds it, and asks what entered after it. */
  async advise(signal) {
    const { session } = this, { text } = session.state;
    this.advice.textContent = "…";
    this.asked.replaceChildren();
    let asked = "";
    await analyse(session.variant, text, "best", SECONDS, (answer) => {
      this.marks = { ...answer, shares: shares(answer), line: [] };
      this.advice.textContent = `Swipe ${answer.best.toUpperCase()} – ${answer.worth} (${answer.unit})`;
      this.show();
      if (answer.best === asked) return;
      asked = answer.best;
      trying(() => this.lookAhead(answer.best, signal));
    }, (stage) => { if (stage === "loading" && !asked) this.advice.textContent = "loading the search …"; }, signal);
  }

  /** Asks where the tile enters after a swipe that was not entered yet. */
  async lookAhead(name, signal) {
    const after = await ask("api/state", { ...this.session.variant, text: this.session.state.text, moves: [name] }, signal);
    if (!signal.aborted) this.askChance(after, [name]);
  }

  /** Another swipe than the recommended one, made on the board. */
  swipe(name) {
    this.running.abort();
    this.running = new AbortController();
    this.advice.textContent = `You swiped ${name.toUpperCase()}`;
    trying(() => this.lookAhead(name, this.running.signal));
  }

  /** Asks what chance did in a position that follows the shown one by `moves`. */
  askChance(after, moves) {
    const take = (name) => trying(async () => {
      this.running.abort();
      for (const one of [...moves, name]) await this.session.play(one);
      await this.settleAlone();
      this.changed();
    });
    if (after.player !== "chance") return this.asked.replaceChildren();
    if (after.stage === "draw") {
      this.advice.textContent = "What comes next?";
      return this.asked.replaceChildren(nextButtons(after, take));
    }
    return this.asked.replaceChildren(h("p", { class: "quiet" }, "Tap where the new tile entered:"), entryBoard(after, take));
  }

  /** Takes back the last entry: to before the last swipe, or to before what comes next is told. */
  async undo() {
    const { session } = this;
    if (!session?.steps.length) return;
    const at = session.steps.findLastIndex((step) => step.player === 1);
    await trying(() => session.goTo(Math.max(0, at)));
    await trying(() => this.settleAlone());
    this.changed();
  }
}

/** Returns a text whose deck is what nine start tiles and the next one leave, where it is such a start. */
function counted(text) {
  const { cells, next, named } = read(text);
  const tiles = cells.filter((tile) => tile !== "0"), left = ["1", "2", "3"].map((card) => 4 - tiles.filter((tile) => tile === card).length);
  const isStart = tiles.length === 9 && left.reduce((a, b) => a + b) === 3 && Math.min(...left) >= 0;
  if (!isStart || named.deck !== "4,4,4") return text;
  if (["1", "2", "3"].includes(next)) left[Number(next) - 1] -= 1;
  return Math.min(...left) < 0 || !left.some(Boolean) ? text : text.replace(/deck=\S+/, `deck=${left.join(",")}`);
}

/** Returns a button for each tile that may come next. */
function nextButtons(state, take) {
  return h("div", { class: "buttons taps", role: "group", "aria-label": "Next tile" }, [...state.outcomes].sort((a, b) =>
    Number.parseInt(a.name, 10) - Number.parseInt(b.name, 10) || 0).map((one) => h("button", {
    class: "tap", "data-outcome": one.name, onclick: () => take(one.name), style: `background:${paint(one.name)[0]};color:${paint(one.name)[1]}`,
  }, one.name)));
}

/** Returns the board after the swipe, with a place to tap wherever the tile may have entered; with a bonus, one for each value. */
function entryBoard(state, take) {
  const { cells } = read(state.text), places = new Map();
  for (const one of state.outcomes) {
    const [tile, place] = one.name.split("@"), [row, column] = place.split(",").map(Number), k = 4 * row + column;
    places.set(k, [...(places.get(k) || []), { name: one.name, tile }]);
  }
  return h("div", { class: "entry", role: "group", "aria-label": "Where the tile entered" }, cells.map((tile, k) => {
    const [back, ink] = paint(tile), here = places.get(k);
    if (!here) return h("span", { class: "cell", style: `background:${back};color:${ink}` }, tile === "0" ? "" : tile);
    return h("span", { class: "cell places" }, here.map((one) => h("button", {
      class: "tap", "data-outcome": one.name, "aria-label": threes.outcomeTitle(one.name), onclick: () => take(one.name),
      style: `background:${paint(one.tile)[0]};color:${paint(one.tile)[1]}`,
    }, one.tile)));
  }));
}
