// Analyse: any position, set up, pasted or reached by moves. Values on the board as the search deepens, two leaves side by side, exact
// values if there is a solver, chance with its probabilities.

import { address, keepAddress } from "../address.js";
import { ask } from "../api.js";
import { chanceByHand } from "../chance.js";
import { betweenClicks, complain, h, offered, select, sentence, trying } from "../dom.js";
import { evaluationBar } from "../evaluation.js";
import { titleOf } from "../games/index.js";
import { Session, newSeed } from "../session.js";
import { actionsOf, analyse, byTurns, exactMarks, solve, withDifference } from "../analysis.js";
import { optionsForm } from "../variants.js";
import { moveItems, resultInWords } from "./play.js";

const SECONDS = { 2: "2 s", 5: "5 s", 15: "15 s", 60: "60 s" };
const STAGES = { loading: "loading the search; a new one is compiled …", waiting: "waiting for a free process …" };
const EXACT_SECONDS = 10;
const MOST_ROWS = 60;

export const title = ({ game }) => `Analyse ${game}`;

export async function open(main, target) {
  const session = await Session.open(target, null);
  session.startGiven = Boolean(target.start);
  if (session.state.player === "chance" && !session.steps.length && !target.start) {
    // a game that begins with chance
    session.seed = newSeed();
    session.state = await session.tell(session.first, [], 0);
    if (session.about.reads === false) session.steps = session.state.steps;
    else [session.first, session.startGiven] = [session.state.text, true];
    session.seed = null;
  }
  const page = new AnalysePage(main, session, { l: "best", k: "", d: "5", ...target.more });
  page.build();
  page.changed();
  return () => page.stop();
}

class AnalysePage {
  /** @type {Session} */ session;
  /** @type {HTMLElement} */ main;
  /** @type {Record<string, string>} */ more;

  constructor(main, session, more) {
    Object.assign(this, { main, session, more });
    this.running = new AbortController();
    this.written = ""; // the last text that the page wrote to the position's field
    this.show = betweenClicks(() => this.draw());
    this.clear();
  }

  clear() {
    this.answers = { a: null, b: null, exact: null };
    this.notes = { a: "", b: "", exact: "" };
  }

  build() {
    const { about, module } = this.session;
    const leaves = offered(about.leaves, about.unusable);
    if (!leaves.some(([name]) => name === this.more.l)) this.more.l = leaves[0][0];
    const set = (key) => (value) => {
      this.more[key] = value;
      this.changed();
    };
    const host = h("div", { class: "host", role: "application", "aria-label": `board of ${about.title}` });
    document.title = `${titleOf(about)}: analysis – Leafwise`;
    this.board = module.makeBoard(host, about, (name) => this.act(name));
    this.status = h("p", { class: "status", id: "status" });
    this.spoken = h("p", { class: "unseen", role: "status" }); // for screen readers: only the end of an analysis
    this.chance = h("div", { id: "chance" });
    this.scale = evaluationBar(about, module);
    this.table = h("div", { id: "values" });
    this.list = h("ol", { class: "moves", "aria-label": "Moves" });
    this.text = h("textarea", { rows: 3, spellcheck: "false", id: "position", "aria-label": "Position or game as text" });
    this.editor = h("div", { id: "editor" });
    this.back = h("button", { onclick: () => this.goBack() }, "Back");
    this.again = h("button", { onclick: () => this.changed(), id: "again" }, "Analyse again");
    this.halt = h("button", { onclick: () => this.stop(), id: "halt" }, "Stop");
    this.shownBy = about.has_solver ? "exact" : "a";
    this.drawnBy = h("span", {});
    this.rows = "turns"; // rows of the table, in games with whole turns
    this.main.append(
      h("h1", {}, `${titleOf(about)}: analysis`),
      h(
        "div",
        { class: "game" },
        h("section", { "aria-label": "Board" }, this.scale.element, host, this.status, this.spoken, this.chance),
        h(
          "section",
          { "aria-label": "Analysis" },
          h(
            "div",
            { class: "buttons" },
            this.back,
            this.again,
            this.halt,
            (this.playLink = h("a", { class: "button" }, "Play from here")),
            h("a", { class: "button", href: address({ page: "rules", game: about.game }) }, "Rules"),
          ),
          h(
            "div",
            { class: "buttons" },
            select("Leaf", leaves, this.more.l, set("l")),
            select("beside", [["", "no other"], ...leaves], this.more.k, set("k")),
            select("for", Object.entries(SECONDS), this.more.d, set("d")),
          ),
          this.drawnBy,
          this.table,
          h("h2", {}, "Moves"),
          this.list,
          h(
            "details",
            { id: "setup", ontoggle: (event) => event.target.open && this.openEditor() },
            h("summary", {}, "Set up or paste a position"),
            this.editor,
            h("label", { for: "position" }, "Position (the game's own text), or a game file"),
            this.text,
            h("p", { class: "buttons" }, h("button", { onclick: () => trying(() => this.paste(this.text.value)) }, "Use this text")),
          ),
          h(
            "details",
            {},
            h("summary", {}, "Variant"),
            optionsForm(about, (options) => {
              location.hash = address({ page: "analyse", game: about.game, options });
            }),
          ),
        ),
      ),
    );
    host.focus();
  }

  openEditor() {
    const { about, module, state } = this.session;
    this.editor.replaceChildren();
    module.makeEditor?.(this.editor, about, state.text, (text) => trying(() => this.use(text)));
    this.tellText();
  }

  /** Writes the position to its field, unless the user changed the field. */
  tellText() {
    if (this.text.value === this.written) this.written = this.text.value = this.session.state.text;
  }

  /** Uses a text as the position; the server reports what is wrong with it. */
  async use(text) {
    complain("");
    this.text.value = text;
    const { session } = this,
      number = (this.lastRequest = (this.lastRequest || 0) + 1);
    const answer = await session.tell(text, [], 0, false).catch((problem) => {
      if (number === this.lastRequest) throw problem;
    });
    if (number !== this.lastRequest) return; // a newer text is in use
    Object.assign(session, { state: answer, first: answer.text, steps: [], startGiven: true });
    this.written = text;
    this.changed();
  }

  async paste(text) {
    if (!/^\s*\[[A-Za-z]+ /.test(text)) {
      await this.use(text);
      return this.openEditor();
    }
    const {
      games: [game],
    } = await ask("api/read", { file: text });
    location.hash = address({ page: "analyse", game: game.game, options: game.options, start: game.first, moves: game.steps.map((step) => step.name) });
    return undefined;
  }

  /** Plays an action, or the actions of a whole turn. */
  act(...names) {
    return trying(async () => {
      for (const name of names) await this.session.play(name);
      this.moved();
    });
  }

  goBack() {
    return trying(() => this.session.goBack(() => this.session.steps.length - 1).then(() => this.moved()));
  }

  /** Shows a new position, also in an open editor. */
  moved() {
    this.written = this.text.value;
    this.changed();
    if (document.querySelector("#setup[open]")) this.openEditor();
  }

  changed() {
    this.stop();
    this.clear();
    complain("");
    keepAddress({ page: "analyse", ...this.session.addressFields, more: this.more });
    this.running = new AbortController();
    this.show();
    if (!this.session.state.over) trying(() => this.think(this.running.signal));
  }

  stop() {
    this.running.abort();
    if (this.halt) this.halt.disabled = true;
  }

  async think(signal) {
    const { session, more } = this,
      { state, variant } = session;
    const begun = performance.now();
    this.halt.disabled = false;
    const clock = setInterval(() => this.tick(begun), 200);
    signal.addEventListener("abort", () => clearInterval(clock));
    const search = (key, leaf) =>
      leaf &&
      analyse(
        variant,
        state.text,
        leaf,
        Number(more.d),
        (answer) => {
          this.answers[key] = answer;
          this.show();
        },
        (stage) => {
          this.notes[key] = stage === "working" ? "" : STAGES[stage];
          this.tick(begun);
        },
        signal,
      );
    const exact =
      session.about.has_solver &&
      state.player !== "chance" &&
      solve(variant, state.text, EXACT_SECONDS, signal).then(
        (answer) => {
          this.answers.exact = answer;
          this.notes.exact = answer?.complete ? "" : "the exact solver needs longer";
          this.show();
        },
        (problem) => {
          if (/exact solver/.test(problem.message))
            session.about.has_solver = false; // there is none for this variant
          else if (problem.name !== "AbortError") this.notes.exact = problem.message;
        },
      );
    try {
      await Promise.all([search("a", more.l), search("b", more.k), exact].filter(Boolean));
      this.tick(begun);
      this.spoken.textContent = this.status.textContent;
    } catch (problem) {
      if (problem.name !== "AbortError" && !this.answers.a) this.status.textContent = "No answer.";
      throw problem;
    } finally {
      clearInterval(clock);
      if (!signal.aborted) this.halt.disabled = true;
    }
  }

  tick(begun) {
    const { a } = this.answers,
      notes = Object.values(this.notes).filter(Boolean).join("; ");
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    this.status.textContent = a
      ? `${sentence(a.unit)}${this.whose(a.player)}: ${a.worth} · depth ${a.depth} · ${a.nodes.toLocaleString("en")} nodes · ${seconds} s${a.no_unit && ` · ${a.no_unit}`} ${notes && `· ${notes}`}`
      : `Searching … ${seconds} s ${notes && `· ${notes}`}`;
  }

  /** Returns whose value it is, in two-player games. */
  whose(player) {
    const { about, module } = this.session;
    return about.players === 1 || !player ? "" : ` for ${(module.players || ["player 1", "player 2"])[player - 1]}`;
  }

  marks() {
    const { a, b, exact } = this.answers;
    const answer = this.shownBy === "b" && b ? b : a;
    if (exact?.complete && (this.shownBy === "exact" || !answer)) return exactMarks(exact);
    return answer && answer.best ? answer : {};
  }

  draw() {
    const { session } = this,
      { state } = session;
    this.board.show(state, { live: !state.over, last: session.last, worths: null, shares: null, best: null, line: [], ...this.marks() });
    this.showChance();
    if (state.over) this.status.textContent = this.spoken.textContent = `Game over: ${resultInWords(state, session.about, session.module)}`;
    this.chance.replaceChildren();
    if (state.player === "chance")
      this.chance.append(
        h("p", { class: "quiet" }, `Chance acts (${state.stage}); choose what it does:`),
        chanceByHand(state, (name) => this.act(name), session.module),
      );
    this.back.disabled = !session.steps.length;
    const here = { game: session.about.game, options: session.variant.options, start: state.text };
    this.playLink.href = address({ page: "play", ...(session.about.reads === false ? session.addressFields : here) });
    this.list.replaceChildren(...moveItems(session.steps, session.module));
    this.tellText();
    this.showTable();
  }

  /** Shows the chance to win on the bar: the exact one, else the leaf's. */
  showChance() {
    const { a, exact } = this.answers;
    this.scale.show(exact?.complete ? { player: exact.player, chance: (exact.value + 1) / 2 } : a);
  }

  showTable() {
    const { a, b, exact } = this.answers,
      { more } = this;
    const columns = [["a", more.l, a], more.k && ["b", more.k, b], exact?.complete && ["exact", "exact", exactMarks(exact)]].filter(
      (one) => one && one[2]?.worths,
    );
    const drawn = columns.some(([key]) => key === this.shownBy) ? this.shownBy : columns[0]?.[0];
    this.drawnBy.replaceChildren();
    if (columns.length > 1)
      this.drawnBy.append(
        select(
          "On the board",
          columns.map(([key, name]) => [key, name]),
          drawn,
          (value) => {
            this.shownBy = value;
            this.show();
          },
        ),
      );
    if (!columns.length || !Object.keys(columns[0][2].worths).length) return this.table.replaceChildren();
    if (columns.some(([, , answer]) => answer.turns)) {
      this.drawnBy.append(
        select(
          "In the table",
          [
            ["turns", "whole turns"],
            ["actions", "single actions"],
          ],
          this.rows,
          (value) => {
            this.rows = value;
            this.show();
          },
        ),
      );
      if (this.rows === "turns") for (const column of columns) column[2] = byTurns(column[2]);
    }
    const shown = columns.find(([key]) => key === drawn)[2],
      depth = (key, answer) => (this.rows === "turns" && answer.turn_depth) || this.answers[key].depth,
      order = shown.action_values;
    const names = Object.keys(shown.worths).sort((x, y) => order[y] - order[x]);
    const lines = columns
      .filter(([, , answer]) => answer.line?.length)
      .map(([, name, answer]) => h("p", { class: "line" }, h("strong", {}, `Line (${name}): `), answer.line_words?.join(" · ") ?? answer.line.join(" ")));
    this.table.replaceChildren(
      ...lines,
      h(
        "div",
        { class: "scroll" },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col" }, "Move"),
              columns.map(([key, name, answer]) => h("th", { scope: "col" }, name, key === "exact" ? "" : h("small", {}, ` depth ${depth(key, answer)}`))),
            ),
          ),
          h(
            "tbody",
            {},
            names.slice(0, MOST_ROWS).map((name) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, h("button", { onclick: () => this.act(...actionsOf(shown, name)) }, this.session.state.words?.[name] ?? name)),
                columns.map(([, , answer]) =>
                  h("td", { class: answer.best === name ? "best" : null }, withDifference(answer.worths[name] ?? "", answer.differences?.[name])),
                ),
              ),
            ),
          ),
        ),
      ),
    );
    return undefined;
  }
}
