// Play: people and players in any seats, undo, hints; the game is in the address at every moment.

import { address, keepAddress } from "../address.js";
import { ask, stream } from "../api.js";
import { betweenClicks, complain, h, offered, select, trying } from "../dom.js";
import { titleOf } from "../games/index.js";
import { Session, newSeed } from "../session.js";
import { analyse, exactMarks, solve } from "../thinking.js";
import { chanceByHand, oddsLine } from "../chance.js";
import { optionsForm } from "../variants.js";

const HUMAN = "human", HINT_SECONDS = 1.5, EXACT_SECONDS = 5, SLOW = 400;

const STAGES = {
  waiting: "waiting for a free process …", working: "thinking …", loading: "thinking; a player that is new here is compiled first, which may take a minute …",
};

export const title = ({ game }) => `Play ${game}`;

export async function open(main, told) {
  const more = { ...told.more };
  more.s ||= String(newSeed());
  const session = await Session.open(told, more.c === "hand" ? null : Number(more.s));
  session.startGiven = Boolean(told.start);
  const page = new PlayPage(main, session, more);
  page.build();
  page.changed();
  trying(async () => { for await (const { event } of stream("api/prepare", session.variant, page.ending.signal)) if (event === "done") return; });
  return () => page.end();
}

class PlayPage {
  constructor(main, session, more) {
    Object.assign(this, { main, session, more });
    this.ending = new AbortController();
    this.hint = null;
    this.turn = 0;
    this.chosen = []; // what was clicked, until it is played
    this.show = betweenClicks(() => this.draw());
    if (session.about.players === 2) {
      more.p1 ||= HUMAN;
      more.p2 ||= "level:medium";
    } else more.p1 ||= HUMAN;
  }

  build() {
    const { about, module } = this.session;
    const host = this.host = h("div", { class: "host", role: "application", "aria-label": `board of ${about.title}` });
    this.status = h("p", { class: "status", "aria-live": "polite", id: "status" });
    this.luck = h("div", { id: "luck" });
    this.list = h("ol", { class: "moves", "aria-label": "Moves" });
    document.title = `${titleOf(about)} – Leafwise`;
    this.buttons = {
      undo: h("button", { onclick: () => this.undo(), title: "key u" }, "Undo"),
      hint: h("button", { onclick: () => this.showHint(), title: "key h" }, "Hint"),
      fresh: h("button", { onclick: () => this.fresh() }, "New game"),
    };
    this.links = h("p", { class: "buttons" });
    this.ended = h("p", { class: "buttons" });
    this.walk = ["« Start", "‹ Back", "› On", "» Now"].map((sign, k) => h("button", {
      onclick: () => this.go([() => 0, (at) => at - 1, (at) => at + 1, () => Infinity][k]), "aria-label": sign.slice(2),
    }, sign[0]));
    this.board = module.makeBoard(host, about, (name) => this.act(name));
    this.main.append(h("h1", {}, titleOf(about)), h("div", { class: "game" },
      h("section", { "aria-label": "Board" }, host, this.status, this.ended, this.luck),
      h("section", { "aria-label": "Game" },
        h("div", { class: "buttons" }, Object.values(this.buttons)), this.seats(), this.links,
        h("h2", {}, "Moves"), h("div", { class: "buttons", role: "group", "aria-label": "Look back" }, this.walk), this.list,
        h("details", {}, h("summary", {}, "Variant"), optionsForm(about, (options) => {
          location.hash = address({ page: "play", game: about.game, options, more: { p1: this.more.p1, p2: this.more.p2 || "" } });
        })))));
    this.keys = (event) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      if (event.key === "u") this.undo();
      else if (event.key === "h") this.showHint();
      else if (["ArrowLeft", ","].includes(event.key)) this.go((at) => at - 1);
      else if (["ArrowRight", "."].includes(event.key)) this.go((at) => at + 1);
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
    this.busy = "";
    this.back = null;
    keepAddress({ page: "play", ...this.session.told, more: this.more });
    complain("");
    this.show();
    const { state } = this.session;
    if (state.over || this.people.includes(state.player)) return;
    if (state.player !== "chance") trying(() => this.letPlay());
    else if (this.session.seed !== null) trying(() => this.settle());
  }

  /** Looks at an earlier position: `to` gets the number of the stop that is shown, and returns that of another one. */
  go(to) {
    const { session } = this, { stops } = session, last = stops.length - 1;
    const at = Math.max(0, Math.min(last, to(this.back ? stops.indexOf(this.back.count) : last)));
    return trying(async () => {
      const number = this.looks = (this.looks || 0) + 1, state = await session.stateAt(stops[at]);
      if (number !== this.looks) return;
      this.back = at === last ? null : { state, count: stops[at] };
      this.show();
    });
  }

  draw() {
    const { session, back } = this, { state } = session, { stops } = session;
    const live = !state.over && this.people.includes(state.player) && !this.busy && !back;
    this.board.show(back?.state ?? state, {
      live, last: session.lastBefore(back?.count ?? session.steps.length), worths: null, shares: null, best: null, line: [], ...(!back && this.hint || {}),
    });
    const at = back ? stops.indexOf(back.count) : stops.length - 1;
    this.status.textContent = back ? `Position after ${at} of ${stops.length - 1} moves` : this.hint?.says || this.says();
    this.ended.replaceChildren(...(state.over && !this.busy ? [h("a", { class: "button main", href: address({
      page: "review", ...session.told, more: { p1: this.more.p1, p2: this.more.p2 || "" },
    }) }, "Analyse this game")] : []));
    this.walk.forEach((button, k) => { button.disabled = k < 2 ? !at : !back; });
    this.luck.replaceChildren(...oddsLine(session.last, session.module));
    if (state.player === "chance" && session.seed === null) this.luck.append(chanceByHand(state, (name) => this.act(name), session.module));
    this.list.replaceChildren(...moveItems(session.steps, session.module, (number) => this.go(() => number), at));
    if (!back) this.list.scrollTop = this.list.scrollHeight;
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

  /** Plays what was clicked; a click while the one before is still on its way counts when that has arrived. */
  act(name) {
    if (!this.sending) this.chosen.length = 0;
    this.chosen.push(name);
    if (!this.sending) trying(() => this.playChosen());
  }

  async playChosen() {
    const { session } = this, slow = setTimeout(() => { this.status.textContent = "your move is on its way …"; }, SLOW);
    this.sending = true;
    try {
      for (let name; (name = this.chosen[0]) !== undefined; this.chosen.shift()) {
        const { actions, outcomes, player } = session.state, byHand = player === "chance" && session.seed === null;
        if (byHand ? !outcomes.some((one) => one.name === name) : !this.people.includes(player) || !actions.includes(name)) continue;
        this.host.querySelector(`[data-action="${CSS.escape(name)}"]`)?.classList.add("sent");
        await session.play(name);
        this.changed();
      }
    } finally {
      this.sending = false;
      clearTimeout(slow);
      this.show();
    }
  }

  settle() {
    return this.session.settle().then(() => this.changed());
  }

  async letPlay() {
    const own = this.turn, { session } = this;
    const says = (text) => {
      if (own !== this.turn) return;
      this.busy = text;
      this.show();
    };
    says("thinking …");
    try {
      const body = { ...session.variant, text: session.state.text, player: this.more[`p${session.state.player}`],
        seed: (Number(this.more.s) + session.steps.length) % 2 ** 53 };
      const { action } = await ask("api/move", body, this.ending.signal, (stage) => says(STAGES[stage]));
      if (own === this.turn) await session.play(action);
    } catch (problem) {
      says("");
      throw problem;
    }
    if (own === this.turn) this.changed();
  }

  async undo() {
    this.turn += 1;
    this.chosen.length = 0;
    await trying(() => this.session.goBack(() => this.session.undoPoint(this.people)).then(() => this.changed()));
  }

  async showHint() {
    const { session } = this, own = this.turn;
    if (this.buttons.hint.disabled || this.hinting === own) return;
    this.hinting = own;
    await trying(async () => {
      if (session.about.has_solver) {
        const found = await solve(session.variant, session.state.text, EXACT_SECONDS, this.ending.signal).catch(() => null);
        if (found?.complete) return this.hinted(own, { ...exactMarks(found), says: "Exact, by the solver" });
      }
      await analyse(session.variant, session.state.text, "best", HINT_SECONDS, (answer) => this.hinted(own, {
        ...answer, says: `Best is ${session.state.words?.[answer.best] ?? answer.best}, ${answer.unit} ${answer.worth}, ${answer.depth} decisions deep${answer.no_unit && `; ${answer.no_unit}`}`,
      }), (stage) => {
        if (own === this.turn && stage === "loading") this.status.textContent = "loading the search …";
      }, this.ending.signal);
      return undefined;
    });
    this.hinting = null;
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

/** Returns the items of a list of moves, each with what chance did after it; `go(number)` shows the position after one, `at` is shown. */
export function moveItems(steps, module, go = null, at = 0) {
  const items = [];
  let number = 0;
  for (const step of steps) {
    if (step.player === "chance") {
      if (items.length) items.at(-1).append(h("span", { class: "quiet" }, ` › ${step.words ?? module.outcomeTitle?.(step.name) ?? step.name}`));
    } else {
      const own = ++number, told = `${own}. ${step.words ?? step.name}`;
      items.push(h("li", {}, go ? h("button", { class: "move", "aria-current": own === at ? "step" : null, onclick: () => go(own) }, told) : told));
    }
  }
  return items;
}

/** Returns a score with at most three decimals. */
const brief = (points) => (Math.round(1000 * points) / 1000).toLocaleString("en");

/** Returns how a game ended, in the names of its players. */
export function resultInWords(state, about, module) {
  if (about.players === 1) return `${brief(state.points)} points`;
  const winner = /player ([12]) wins/.exec(state.result);
  return (winner && module.players ? `${module.players[winner[1] - 1]} wins` : state.result) + (module.how?.(state, about) ?? "");
}
