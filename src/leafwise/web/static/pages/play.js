// Play: people and players in any seats, undo, hints. The address always holds the game.

import { address, keepAddress } from "../address.js";
import { ask, offers, stream } from "../api.js";
import { betweenClicks, complain, copy, h, offered, select, trying } from "../dom.js";
import { evaluationBar } from "../evaluation.js";
import { titleOf } from "../games/index.js";
import { hintList } from "../hints.js";
import { notePlayed } from "../played.js";
import { Session, newSeed } from "../session.js";
import { actionsOf, analyse, byTurns, exactMarks, solve } from "../analysis.js";
import { chanceByHand, oddsLine } from "../chance.js";
import { optionsForm } from "../variants.js";

const HUMAN = "human",
  EXACT_SECONDS = 5,
  SLOW = 400;
const HINT_SECONDS = { 1: "1 s", 3: "3 s", 10: "10 s", 30: "30 s" },
  BAR_SECONDS = 0.5;
const SHOWN = 6, // moves of a line
  MOST_SHARED = 8000; // maximum characters of an address for other programs
/** The name of a player that searches: without its time, and the time. */
const PACED = /^(search:.*),seconds=([\d.]+)$/;

const STAGES = {
  waiting: "Waiting for a free process …",
  working: "Thinking …",
  loading: "Thinking. A new player is compiled first, which may take a minute …",
};

export const title = ({ game }) => `Play ${game}`;

export async function open(main, target) {
  const more = { ...target.more };
  more.s ||= String(newSeed());
  const session = await Session.open(target, more.c === "hand" ? null : Number(more.s));
  session.startGiven = Boolean(target.start);
  session.branches = more.b;
  const page = new PlayPage(main, session, more);
  page.build();
  page.changed();
  trying(async () => {
    for await (const { event } of stream("api/prepare", session.variant, page.ending.signal)) if (event === "done") return;
  });
  return () => page.end();
}

class PlayPage {
  /** @type {Session} */ session;
  /** @type {HTMLElement} */ main;
  /** @type {Record<string, string>} */ more;

  constructor(main, session, more) {
    Object.assign(this, { main, session, more });
    this.ending = new AbortController();
    this.hint = null;
    this.turn = 0;
    this.chosen = []; // clicks that are not played yet
    this.show = betweenClicks(() => this.draw());
    if (session.about.players === 2) {
      more.p1 ||= HUMAN;
      more.p2 ||= "level:medium";
    } else more.p1 ||= HUMAN;
  }

  build() {
    const { about, module } = this.session;
    const host = (this.host = h("div", { class: "host", role: "application", "aria-label": `board of ${about.title}` }));
    this.status = h("p", { class: "status", "aria-live": "polite", id: "status" });
    this.bar = evaluationBar(about, module);
    this.hints = h("div", { id: "hints" });
    this.luck = h("div", { id: "luck" });
    this.others = h("div", { id: "others" });
    this.list = h("ol", { class: "moves", "aria-label": "Moves" });
    document.title = `${titleOf(about)} – Leafwise`;
    this.buttons = {
      undo: h("button", { onclick: () => this.undo(), title: "key u" }, "Undo"),
      hint: h("button", { onclick: () => this.showHint(), title: "key h" }, "Hint"),
      fresh: h("button", { onclick: () => this.fresh() }, "New game"),
    };
    this.links = h("p", { class: "buttons" });
    this.unkept = h("p", { class: "quiet", hidden: true }, "The browser has no room to list this game among those played here.");
    this.ended = h("p", { class: "buttons" });
    this.walk = ["« Start", "‹ Back", "› On", "» Now"].map((sign, k) =>
      h("button", { onclick: () => this.go([() => 0, (at) => at - 1, (at) => at + 1, () => Infinity][k]), "aria-label": sign.slice(2) }, sign[0]),
    );
    this.board = module.makeBoard(host, about, (name) => this.act(name));
    this.main.append(
      h("h1", {}, titleOf(about)),
      h(
        "div",
        { class: "game" },
        h("section", { "aria-label": "Board" }, this.bar.element, host, this.status, this.ended, this.hints, this.luck),
        h(
          "section",
          { "aria-label": "Game" },
          h("div", { class: "buttons" }, Object.values(this.buttons)),
          this.seats(),
          this.help(),
          this.links,
          this.unkept,
          h("h2", {}, "Moves"),
          h("div", { class: "buttons", role: "group", "aria-label": "Look back" }, this.walk),
          this.list,
          this.others,
          h(
            "details",
            {},
            h("summary", {}, "Variant"),
            optionsForm(about, (options) => {
              location.hash = address({ page: "play", game: about.game, options, more: { p1: this.more.p1, p2: this.more.p2 || "" } });
            }),
          ),
        ),
      ),
    );
    this.keys = (event) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      if (event.key === "u") this.undo();
      else if (event.key === "h") this.showHint();
      else if (["ArrowLeft", ","].includes(event.key)) this.go((at) => at - 1);
      else if (["ArrowRight", "."].includes(event.key)) this.go((at) => at + 1);
    };
    addEventListener("keydown", this.keys);
    host.addEventListener(
      "keydown",
      (event) => {
        // in a look back the arrow keys change the position, even on a board with a cursor
        if (!this.back || !/^Arrow(Left|Right)$/.test(event.key)) return;
        event.stopPropagation();
        event.preventDefault();
        this.go((at) => at + (event.key === "ArrowLeft" ? -1 : 1));
      },
      true,
    );
    host.focus();
  }

  seats() {
    const { about, module } = this.session;
    const names = module.players || ["Player 1", "Player 2"];
    return h(
      "div",
      { class: "buttons" },
      about.players === 2 ? [this.seat("p1", names[0]), this.seat("p2", names[1])] : this.seat("p1", "Who plays"),
      about.has_chance &&
        select(
          "Chance",
          [
            ["drawn", "is drawn"],
            ["hand", "told by hand"],
          ],
          this.more.c || "drawn",
          (value) => {
            this.more.c = value === "hand" ? "hand" : "";
            this.session.seed = value === "hand" ? null : Number(this.more.s);
            this.changed();
          },
        ),
    );
  }

  /** Returns the choice of the player of a seat, and of the time of a search. */
  seat(key, label) {
    const { about } = this.session,
      group = h("div", { class: "buttons" }),
      paces = new Map(),
      players = [];
    for (const { name, title: label } of about.opponents) {
      const [, base, pace] = PACED.exec(name) || [];
      if (!base) players.push({ name, title: label });
      else {
        const [, search, time] = /^(.*), (.*)$/.exec(label);
        if (!paces.has(base)) players.push({ name: base, title: `search: ${search}` });
        paces.set(base, [...(paces.get(base) || []), [pace, time]]);
      }
    }
    const draw = () => {
      const [, base = this.more[key], pace] = PACED.exec(this.more[key]) || [];
      group.replaceChildren(
        select(label, [[HUMAN, "a person"], ...offered(players, about.unusable)], base, (value) => {
          const times = paces.get(value);
          take(times ? `${value},seconds=${(times[1] ?? times[0])[0]}` : value);
        }),
        paces.has(base) ? select("for", paces.get(base), pace, (value) => take(`${base},seconds=${value}`)) : "",
      );
    };
    const take = (value) => {
      this.more[key] = value;
      draw();
      group.querySelector("select").focus();
      this.changed();
    };
    draw();
    return group;
  }

  /** Returns the settings of help: time of a hint, and the evaluation bar. */
  help() {
    return h(
      "div",
      { class: "buttons" },
      select("Hints think", Object.entries(HINT_SECONDS), this.more.h || "1", (value) => {
        this.more.h = value;
        this.keepAddress();
      }),
      h(
        "label",
        {},
        h("input", {
          type: "checkbox",
          checked: this.more.e === "1",
          onchange: (event) => {
            this.more.e = event.target.checked ? "1" : "";
            this.keepAddress();
            this.evaluate();
          },
        }),
        "evaluation bar",
      ),
    );
  }

  get people() {
    return [1, 2].filter((player) => this.more[`p${player}`] === HUMAN);
  }

  /** Shows the position, and lets a player move if it is its turn. */
  changed() {
    this.turn += 1;
    this.hint = null;
    this.busy = "";
    this.back = null;
    this.keepAddress();
    this.note();
    complain("");
    this.show();
    this.evaluate();
    const { state } = this.session;
    if (state.over || this.people.includes(state.player)) return;
    if (state.player !== "chance") trying(() => this.letPlay());
    else if (this.session.seed !== null) trying(() => this.settle());
  }

  keepAddress() {
    keepAddress({ page: "play", ...this.session.addressFields, more: { ...this.more, b: this.session.branches } });
  }

  /** Stores the game in the list of played games, once a person has moved. */
  note() {
    const { session } = this,
      { about, state } = session,
      moves = session.stops.length - 1;
    if (session.undoPoint(this.people) < 0) return;
    this.unkept.hidden = notePlayed({
      id: `${about.game} ${JSON.stringify(session.variant.options)} ${this.more.s} ${session.addressFields.start}`,
      game: about.game,
      title: titleOf(about),
      href: location.hash,
      says: `${moves} ${moves === 1 ? "move" : "moves"}${state.over ? `: ${resultInWords(state, about, session.module)}` : ""}`,
    });
  }

  /** Shows the value of the shown position on the bar. */
  evaluate() {
    this.evaluating?.abort();
    const { session, bar } = this,
      { about, variant } = session,
      state = this.back?.state ?? session.state,
      isOn = this.more.e === "1";
    if (!isOn || state.over) return bar.show(isOn ? ended(state, about) : null);
    if (state.player === "chance") return undefined;
    const { signal } = (this.evaluating = new AbortController());
    return trying(() =>
      analyse(
        variant,
        state.text,
        "best",
        BAR_SECONDS,
        (answer) => bar.show(answer),
        () => {},
        signal,
      ),
    );
  }

  /** Looks at another position: `to` maps the number of the shown stop to that of the new one. */
  go(to) {
    const { session } = this,
      { stops } = session,
      last = stops.length - 1;
    const at = Math.max(0, Math.min(last, to(this.back ? stops.indexOf(this.back.count) : last)));
    return trying(async () => {
      const number = (this.looks = (this.looks || 0) + 1),
        state = await session.stateAt(stops[at]);
      if (number !== this.looks) return;
      this.back = at === last ? null : { state, count: stops[at] };
      this.show();
      this.evaluate();
    });
  }

  draw() {
    const { session, back } = this,
      { state } = session,
      { stops } = session;
    const shown = back?.state ?? state,
      live = !shown.over && this.people.includes(shown.player) && !this.busy;
    this.board.show(shown, {
      live,
      last: session.lastBefore(back?.count ?? session.steps.length),
      worths: null,
      shares: null,
      best: null,
      line: [],
      ...((!back && this.hint) || {}),
    });
    const at = back ? stops.indexOf(back.count) : stops.length - 1;
    this.status.textContent = back
      ? `Position after ${at} of ${stops.length - 1} moves${live ? "; a move from here begins another line" : ""}`
      : this.hint?.says || this.statusText();
    this.hints.replaceChildren(...(!back && this.hint ? this.hinting(this.hint) : []));
    this.ended.replaceChildren(
      ...(state.over && !this.busy && offers("review")
        ? [
            h(
              "a",
              { class: "button main", href: address({ page: "review", ...session.addressFields, more: { p1: this.more.p1, p2: this.more.p2 || "" } }) },
              "Analyse this game",
            ),
          ]
        : []),
    );
    this.walk.forEach((button, k) => {
      button.disabled = k < 2 ? !at : !back;
    });
    this.luck.replaceChildren(...oddsLine(session.last, session.module));
    if (state.player === "chance" && session.seed === null) this.luck.append(chanceByHand(state, (name) => this.act(name), session.module));
    this.list.replaceChildren(...moveItems(session.steps, session.module, (number) => this.go(() => number), at));
    if (!back) this.list.scrollTop = this.list.scrollHeight;
    this.buttons.undo.disabled = session.undoPoint(this.people) < 0;
    this.showOthers();
    this.buttons.hint.disabled = !live || Boolean(back);
    const here = session.addressFields;
    this.links.replaceChildren(
      ...[
        h("a", { class: "button", href: address({ page: "analyse", ...here, more: {} }) }, "Analyse"),
        offers("review") &&
          h("a", { class: "button", href: address({ page: "review", ...here, more: { p1: this.more.p1, p2: this.more.p2 || "" } }) }, "Curve of the game"),
        session.about.has_companion &&
          h(
            "a",
            {
              class: "button",
              href: address({ page: session.about.game === "threes" ? "companion" : "follow", game: session.about.game, options: session.variant.options }),
            },
            "Follow a game elsewhere",
          ),
        h("a", { class: "button", href: address({ page: "rules", game: session.about.game }) }, "Rules"),
        location.href.length > MOST_SHARED
          ? h("span", { class: "quiet" }, "Too long to share as an address: copy it as text.")
          : this.telling("Share", "Address copied", () =>
              navigator.share ? navigator.share({ title: document.title, url: location.href }) : copy(location.href),
            ),
        this.telling("Copy as text", "Copied", async () => copy(await this.file())),
        h("button", { onclick: () => trying(() => this.save()) }, "Save as a file"),
      ].filter(Boolean),
    );
  }

  /** Returns a button that shows `done` after its work. */
  telling(label, done, work) {
    return h(
      "button",
      {
        onclick: ({ currentTarget: button }) =>
          trying(async () => {
            await work();
            button.textContent = done;
          }),
      },
      label,
    );
  }

  /** Returns the best moves of a hint with differences from the best, and the principal variation. */
  hinting(hint) {
    const { about, module, state } = this.session,
      { line } = hint;
    const words = (name) => state.words?.[name] ?? (about.actions.includes(name) ? name : (module.outcomeTitle?.(name) ?? name));
    return [
      hintList(byTurns(hint), words, (name) => actionsOf(hint, name).forEach((one) => this.act(one))),
      !hint.turns && line?.length > 1 && h("p", { class: "line" }, `Then: ${line.slice(1, SHOWN).map(words).join(", ")}`),
    ].filter(Boolean);
  }

  /** Lists other lines of the game, from before a return to an earlier position. */
  showOthers() {
    const { session } = this,
      { about, steps, others } = session,
      isMove = (name) => about.actions.includes(name);
    this.others.replaceChildren(
      ...(others.length
        ? [
            h("h3", {}, "Other lines"),
            h(
              "div",
              { class: "buttons" },
              others.map(([common, way]) => {
                const moves = way.slice(common).filter(isMove),
                  number = steps.slice(0, common).filter((step) => step.player !== "chance").length + 1;
                return h(
                  "button",
                  {
                    onclick: () => {
                      this.turn += 1;
                      trying(() => session.take(way).then(() => this.changed()));
                    },
                  },
                  `${number}. ${moves.slice(0, SHOWN).join(" ")}${moves.length > SHOWN ? ` … (${moves.length})` : ""}`,
                );
              }),
            ),
          ]
        : []),
    );
  }

  statusText() {
    const { about, module, state } = this.session;
    if (state.over) return this.busy ? "" : `Game over: ${resultInWords(state, about, module)}`;
    if (this.busy) return this.busy;
    if (state.player === "chance") return `Chance acts: ${state.stage}`;
    const stage = state.stage && state.stage !== "decision" ? ` (${state.stage})` : "";
    const points = about.players === 1 ? `Score ${brief(state.points)}. ` : "";
    return about.players === 2 ? `${(module.players || ["Player 1", "Player 2"])[state.player - 1]} to move${stage}` : `${points}Your move${stage}`;
  }

  /** Plays a clicked move; a click during a request is played after its answer. */
  act(name) {
    if (!this.sending) this.chosen.length = 0;
    this.chosen.push(name);
    if (!this.sending) trying(() => this.playChosen());
  }

  async playChosen() {
    const { session } = this,
      slow = setTimeout(() => {
        this.status.textContent = "Your move is on its way …";
      }, SLOW);
    this.sending = true;
    try {
      for (let name; (name = this.chosen[0]) !== undefined; this.chosen.shift()) {
        if (this.back && (await this.leaveBack(name))) continue;
        const { actions, outcomes, player } = session.state,
          byHand = player === "chance" && session.seed === null;
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

  /** Returns the game to the shown earlier position; if the move is the one that followed, only shows the next position. */
  async leaveBack(name) {
    const { count } = this.back,
      { session } = this;
    if (session.steps[count]?.name === name) {
      await this.go((at) => at + 1);
      return true;
    }
    await session.goBack(() => count);
    this.back = null;
    return false;
  }

  settle() {
    return this.session.settle().then(() => this.changed());
  }

  async letPlay() {
    const turn = this.turn,
      { session } = this;
    const showStatus = (text) => {
      if (turn !== this.turn) return;
      this.busy = text;
      this.show();
    };
    showStatus("Thinking …");
    try {
      const body = {
        ...session.variant,
        text: session.state.text,
        player: this.more[`p${session.state.player}`],
        seed: (Number(this.more.s) + session.steps.length) % 2 ** 53,
      };
      const { action } = await ask("api/move", body, this.ending.signal, (stage) => showStatus(STAGES[stage]));
      if (turn === this.turn) await session.play(action);
    } catch (problem) {
      showStatus("");
      throw problem;
    }
    if (turn === this.turn) this.changed();
  }

  async undo() {
    this.turn += 1;
    this.chosen.length = 0;
    await trying(() => this.session.goBack(() => this.session.undoPoint(this.people)).then(() => this.changed()));
  }

  async showHint() {
    const { session } = this,
      turn = this.turn;
    if (this.buttons.hint.disabled || this.hintAsked === turn) return;
    this.hintAsked = turn;
    await trying(async () => {
      if (session.about.has_solver) {
        const solution = await solve(session.variant, session.state.text, EXACT_SECONDS, this.ending.signal).catch(() => null);
        if (solution?.complete) return this.hinted(turn, { ...exactMarks(solution), says: "Exact, by the solver" });
      }
      await analyse(
        session.variant,
        session.state.text,
        "best",
        Number(this.more.h || 1),
        (answer, { best } = byTurns(answer)) =>
          this.hinted(turn, {
            ...answer,
            says: `Best is ${session.state.words?.[best] ?? best}, ${answer.unit} ${answer.worth}, ${answer.depth} decisions deep${answer.no_unit && `; ${answer.no_unit}`}`,
          }),
        (stage) => {
          if (turn === this.turn && stage === "loading") this.status.textContent = "Loading the search …";
        },
        this.ending.signal,
      );
      return undefined;
    });
    this.hintAsked = null;
  }

  hinted(turn, marks) {
    if (turn !== this.turn) return;
    this.hint = marks;
    this.show();
  }

  fresh() {
    const { about } = this.session;
    location.hash = address({ page: "play", game: about.game, options: this.session.variant.options, more: { ...this.more, s: String(newSeed()), b: "" } });
  }

  file() {
    return this.session.file([this.more.p1, this.more.p2].slice(0, this.session.about.players));
  }

  async save() {
    const text = await this.file();
    const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "text/plain" })), download: `${this.session.about.game}.txt` });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  end() {
    this.turn += 1;
    this.ending.abort();
    this.evaluating?.abort();
    removeEventListener("keydown", this.keys);
  }
}

/** Returns the items of a list of moves with their chance; `go(number)` shows the position after a move, `at` is the shown one. */
export function moveItems(steps, module, go = null, at = 0) {
  const items = [];
  let number = 0;
  for (const step of steps) {
    if (step.player === "chance") {
      if (items.length) items.at(-1).append(h("span", { class: "quiet" }, ` › ${step.words ?? module.outcomeTitle?.(step.name) ?? step.name}`));
    } else {
      const move = ++number,
        text = `${move}. ${step.words ?? step.name}`;
      items.push(h("li", {}, go ? h("button", { class: "move", "aria-current": move === at ? "step" : null, onclick: () => go(move) }, text) : text));
    }
  }
  return items;
}

/** Returns a score with at most three decimals. */
const brief = (points) => (Math.round(1000 * points) / 1000).toLocaleString("en");

/** Returns the value of a finished game for the evaluation bar; null if the bar shows a single player's chance. */
function ended(state, about) {
  const [, winner] = /player ([12]) wins/.exec(state.result) || [];
  if (about.players === 2) return { player: 1, chance: winner ? Number(winner === "1") : 0.5 };
  return about.leaves[0]?.unit?.startsWith("chance") ? null : { unit: "final score", value_in_unit: state.points, worth: brief(state.points) };
}

/** Returns the result of a game with the names of its players. */
export function resultInWords(state, about, module) {
  if (about.players === 1) return `${brief(state.points)} points`;
  const winner = /player ([12]) wins/.exec(state.result);
  return (winner && module.players ? `${module.players[Number(winner[1]) - 1]} wins` : state.result) + (module.how?.(state, about) ?? "");
}
