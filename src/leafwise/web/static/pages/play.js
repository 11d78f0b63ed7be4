// Play: people and players in any seats, undo, hints; the game is in the address at every moment.

import { address, keepAddress } from "../address.js";
import { ask } from "../api.js";
import { complain, h, offered, select, trying } from "../dom.js";
import { Session, newSeed } from "../session.js";
import { analyse, exactMarks, solve } from "../thinking.js";
import { chanceByHand, oddsLine } from "../chance.js";
import { optionsForm } from "../variants.js";

const HUMAN = "human", HINT_SECONDS = 1.5, EXACT_SECONDS = 5;

export const title = ({ game }) => `Play ${game}`;

export async function open(main, told) {
  const more = { ...told.more };
  more.s ||= String(newSeed());
  const session = await Session.open(told, more.c === "hand" ? null : Number(more.s));
  session.startGiven = Boolean(told.start);
  const page = new PlayPage(main, session, more);
  page.build();
  page.changed();
  trying(() => ask("api/prepare", session.variant, page.ending.signal));
  return () => page.end();
}

class PlayPage {
  constructor(main, session, more) {
    Object.assign(this, { main, session, more });
    this.ending = new AbortController();
    this.hint = null;
    this.turn = 0;
    if (session.about.players === 2) {
      more.p1 ||= HUMAN;
      more.p2 ||= "level:medium";
    } else more.p1 ||= HUMAN;
  }

  build() {
    const { about, module } = this.session;
    const host = h("div", { class: "host", role: "application", "aria-label": `board of ${about.title}` });
    this.status = h("p", { class: "status", "aria-live": "polite", id: "status" });
    this.luck = h("div", { id: "luck" });
    this.list = h("ol", { class: "moves", "aria-label": "Moves" });
    this.buttons = {
      undo: h("button", { onclick: () => this.undo(), title: "key u" }, "Undo"),
      hint: h("button", { onclick: () => this.showHint(), title: "key h" }, "Hint"),
      fresh: h("button", { onclick: () => this.fresh() }, "New game"),
    };
    this.links = h("p", { class: "buttons" });
    this.board = module.makeBoard(host, about, (name) => this.act(name));
    this.main.append(h("h1", {}, about.title.split(",")[0]), h("div", { class: "game" },
      h("section", { "aria-label": "Board" }, host, this.status, this.luck),
      h("section", { "aria-label": "Game" },
        h("div", { class: "buttons" }, Object.values(this.buttons)), this.seats(), this.links,
        h("h2", {}, "Moves"), this.list,
        h("details", {}, h("summary", {}, "Variant"), optionsForm(about, (options) => {
          location.hash = address({ page: "play", game: about.game, options, more: { p1: this.more.p1, p2: this.more.p2 || "" } });
        })))));
    this.keys = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      if (event.key === "u") this.undo();
      else if (event.key === "h") this.showHint();
    };
    addEventListener("keydown", this.keys);
    host.focus();
  }

  seats() {
    const { about, module } = this.session;
    const people = [[HUMAN, "a person"], ...offered(about.opponents, about.unusable)];
    const seat = (key, label) => select(label, people, this.more[key], (value) => {
      this.more[key] = value;
      this.changed();
    });
    const names = module.players || ["Player 1", "Player 2"];
    return h("div", { class: "buttons" },
      about.players === 2 ? [seat("p1", names[0]), seat("p2", names[1])] : seat("p1", "Who plays"),
      about.has_chance && select("Chance", [["drawn", "is drawn"], ["hand", "told by hand"]], this.more.c || "drawn", (value) => {
        this.more.c = value === "hand" ? "hand" : "";
        this.session.seed = value === "hand" ? null : Number(this.more.s);
        this.changed();
      }));
  }

  get people() {
    return [1, 2].filter((player) => this.more[`p${player}`] === HUMAN);
  }

  /** Shows the position, and lets a player play if it is its turn. */
  changed() {
    this.turn += 1;
    this.hint = null;
    keepAddress({ page: "play", ...this.session.told, more: this.more });
    complain("");
    this.show();
    const { state } = this.session;
    if (state.over || this.people.includes(state.player)) return;
    if (state.player !== "chance") trying(() => this.letPlay());
    else if (this.session.seed !== null) trying(() => this.settle());
  }

  show() {
    const { session } = this, { state } = session;
    const live = !state.over && this.people.includes(state.player) && !this.busy;
    this.board.show(state, {
      live, last: session.last, worths: null, shares: null, best: null, line: [], ...(this.hint || {}),
    });
    this.status.textContent = this.hint?.says || this.says();
    this.luck.replaceChildren(...oddsLine(session.last, session.module));
    if (state.player === "chance" && session.seed === null) this.luck.append(chanceByHand(state, (name) => this.act(name), session.module));
    this.list.replaceChildren(...moveItems(session.steps));
    this.list.scrollTop = this.list.scrollHeight;
    this.buttons.undo.disabled = session.undoPoint(this.people) < 0;
    this.buttons.hint.disabled = !live;
    const here = session.told;
    this.links.replaceChildren(...[
      h("a", { class: "button", href: address({ page: "analyse", ...here, more: {} }) }, "Analyse"),
      h("a", { class: "button", href: address({ page: "review", ...here, more: { p1: this.more.p1, p2: this.more.p2 || "" } }) },
        "Curve of the game"),
      session.about.has_companion && h("a", { class: "button", href: address({
        page: session.about.game === "threes" ? "companion" : "follow", game: session.about.game, options: session.variant.options,
      }) }, "Follow a game elsewhere"),
      h("button", { onclick: () => trying(() => this.save()) }, "Save as a file")].filter(Boolean));
  }

  says() {
    const { about, module, state } = this.session;
    if (state.over) return this.busy ? "" : `Game over: ${resultInWords(state, about, module)}`;
    if (this.busy) return this.busy;
    if (state.player === "chance") return `Chance acts: ${state.stage}`;
    const stage = state.stage && state.stage !== "decision" ? ` (${state.stage})` : "";
    const points = about.players === 1 ? `Score ${brief(state.points)}. ` : "";
    return about.players === 2 ? `${(module.players || ["Player 1", "Player 2"])[state.player - 1]} to move${stage}`
      : `${points}Your move${stage}`;
  }

  async act(name) {
    if (this.busy) return;
    this.busy = "…";
    try {
      await trying(() => this.session.play(name));
    } finally {
      this.busy = "";
    }
    this.changed();
  }

  async settle() {
    this.session.state = await this.session.tell(this.session.state.text, [], this.session.steps.length);
    this.session.steps.push(...this.session.state.steps);
    this.changed();
  }

  async letPlay() {
    const own = this.turn, { session } = this;
    this.busy = "thinking …";
    this.show();
    try {
      const body = { ...session.variant, text: session.state.text, player: this.more[`p${session.state.player}`],
        seed: (Number(this.more.s) + session.steps.length) % 2 ** 53 };
      const { action } = await ask("api/move", body, this.ending.signal);
      if (own === this.turn) await session.play(action);
    } finally {
      this.busy = "";
    }
    if (own === this.turn) this.changed();
  }

  async undo() {
    if (this.busy === "…") return;
    this.turn += 1;
    await trying(() => this.session.goBack(() => this.session.undoPoint(this.people)));
    this.changed();
  }

  async showHint() {
    const { session } = this, own = this.turn;
    if (this.buttons.hint.disabled) return;
    this.buttons.hint.disabled = true;
    await trying(async () => {
      if (session.about.has_solver) {
        const found = await solve(session.variant, session.state.text, EXACT_SECONDS, this.ending.signal).catch(() => null);
        if (found?.complete) return this.hinted(own, { ...exactMarks(found), says: "Exact, by the solver" });
      }
      await analyse(session.variant, session.state.text, "best", HINT_SECONDS, (answer) => this.hinted(own, {
        ...answer, says: `Best is ${answer.best}, ${answer.unit} ${answer.worth}, ${answer.depth} decisions deep${answer.no_unit && `; ${answer.no_unit}`}`,
      }), (stage) => {
        if (own === this.turn && stage === "loading") this.status.textContent = "loading the search …";
      }, this.ending.signal);
      return undefined;
    });
    if (own === this.turn) this.buttons.hint.disabled = false;
  }

  hinted(own, marks) {
    if (own !== this.turn) return;
    this.hint = marks;
    this.show();
  }

  fresh() {
    const { about } = this.session;
    location.hash = address({
      page: "play", game: about.game, options: this.session.variant.options, more: { ...this.more, s: String(newSeed()) },
    });
  }

  async save() {
    const players = [this.more.p1, this.more.p2].slice(0, this.session.about.players);
    const text = await this.session.file(players);
    const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "text/plain" })), download: `${this.session.about.game}.txt` });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  end() {
    this.turn += 1;
    this.ending.abort();
    removeEventListener("keydown", this.keys);
  }
}

/** Returns the items of a list of moves, each with what chance did after it. */
export function moveItems(steps) {
  const items = [];
  let number = 0;
  for (const step of steps) {
    if (step.player === "chance") {
      if (items.length) items.at(-1).append(h("span", { class: "quiet" }, ` › ${step.name}`));
    } else items.push(h("li", {}, `${++number}. ${step.name}`));
  }
  return items;
}

/** Returns a score with at most three decimals. */
const brief = (points) => (Math.round(1000 * points) / 1000).toLocaleString("en");

/** Returns how a game ended, in the names of its players. */
export function resultInWords(state, about, module) {
  if (about.players === 1) return `${brief(state.points)} points`;
  const winner = /player ([12]) wins/.exec(state.result);
  return winner && module.players ? `${module.players[winner[1] - 1]} wins` : state.result;
}
