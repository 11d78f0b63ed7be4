// The curve of a game: value and loss of each move, for a game played here or a pasted game file.

import { address } from "../address.js";
import { ask, stream } from "../api.js";
import { curve } from "../curve.js";
import { complain, h, offered, select, sentence, trying } from "../dom.js";
import { gameModule } from "../games/index.js";
import { withDifference } from "../analysis.js";

const PACES = { 0.05: "50 ms a move", 0.2: "200 ms a move", 1: "1 s a move" };

export const title = ({ game }) => `Curve ${game}`;

export async function open(main, target) {
  const page = new ReviewPage(main, target);
  page.build();
  if (target.game && target.moves.length) await page.fromAddress();
  return () => page.running.abort();
}

class ReviewPage {
  /** @type {HTMLElement} */ main;
  /** @type {any} an address, read */ target;
  /** @type {AbortController} */ running;
  /** @type {string} */ pace;
  /** @type {string} */ leaf;
  /** @type {any} the answer of /api/game */ about;
  /** @type {any} the game's module */ module;

  constructor(main, target) {
    Object.assign(this, { main, target, running: new AbortController(), pace: "0.2", leaf: "best" });
  }

  build() {
    this.file = h("textarea", { rows: 6, spellcheck: "false", id: "file", placeholder: '[Game "cassis"]\n1. 0-1\n2. 2-3' });
    this.status = h("p", { class: "status", "aria-live": "polite", id: "status" });
    this.picture = h("div", { class: "scroll", id: "curve", tabindex: 0, role: "group", "aria-label": "Curve" });
    this.worst = h("div", { id: "worst" });
    this.host = h("div", { class: "host", role: "application", "aria-label": "position" });
    this.link = h("p", {});
    this.controls = h("div", { class: "buttons" });
    this.main.append(
      h("h1", {}, "Curve of a game"),
      h(
        "details",
        { open: !this.target.moves.length, id: "paste" },
        h("summary", {}, "Paste a game file"),
        h("label", { for: "file" }, "Game file"),
        this.file,
        h("p", { class: "buttons" }, h("button", { class: "main", onclick: () => trying(() => this.read(this.file.value)) }, "Show its curve")),
      ),
      this.controls,
      this.status,
      this.picture,
      h("div", { class: "game" }, h("div", {}, this.host, this.link), this.worst),
    );
  }

  async fromAddress() {
    const { game, options, start, moves, more } = this.target;
    const players = [more.p1, more.p2].filter(Boolean);
    const body = { game, options, text: start, moves };
    await ask("api/game", { game, options });
    const { file } = await ask("api/record", players.length ? { ...body, players } : body, this.running.signal);
    this.file.value = file;
    await this.read(file);
  }

  /** Reads a file's first game and reviews its moves. */
  async read(file) {
    complain("");
    this.running.abort();
    this.running = new AbortController();
    const { signal } = this.running;
    const { games } = await ask("api/read", { file }, signal);
    this.game = games[0];
    this.variant = { game: this.game.game, options: this.game.options };
    [this.about, this.module] = await Promise.all([ask("api/game", this.variant, signal), gameModule(this.game.game)]);
    this.host.replaceChildren();
    this.board = this.module.makeBoard(this.host, this.about, () => {});
    const titled = this.about.leaves.map((one) => ({ ...one, title: `${one.title}${one.unit ? "" : " (no curve: its numbers have no unit)"}` }));
    const leaves = offered(titled, this.about.unusable);
    if (!leaves.some(([name]) => name === this.leaf)) this.leaf = leaves[0][0];
    const again = (key) => (value) => {
      this[key] = value;
      trying(() => this.read(file));
    };
    this.controls.replaceChildren(select("Leaf", leaves, this.leaf, again("leaf")), select("with", Object.entries(PACES), this.pace, again("pace")));
    this.decisions = this.game.steps.map((step, k) => ({ ...step, k })).filter((step) => step.player !== "chance");
    this.reviewed = [];
    this.at = null;
    await this.goTo(0);
    for await (const { event, data } of stream("api/review", { file, leaf: this.leaf, seconds: Number(this.pace) }, signal)) {
      if (event === "stage") this.status.textContent = data === "working" ? "" : data === "loading" ? "Loading …" : "Waiting …";
      else if (event === "answer" && data.moves !== undefined) this.head = data;
      else if (event === "answer") {
        this.reviewed.push(data);
        this.draw();
      }
    }
    this.draw(true);
  }

  /** Returns the value of a move on the curve: the first player's chance to win, or in a single-player game its own value. */
  worthOf(one, value) {
    return this.about.players === 2 && one.player === 2 && this.head.is_chance ? 1 - value : value;
  }

  draw(done = false) {
    const { reviewed, head, about, module } = this;
    const names = module.players || ["Player 1", "Player 2"];
    this.status.textContent = done ? this.summary() : `Move ${reviewed.length} of ${head.moves}`;
    if (head.unit === null) {
      this.picture.replaceChildren(
        h(
          "p",
          {},
          `The values of the leaf ${head.leaf} have no unit, so there is no curve. The losses of the moves are in its own numbers.${head.no_unit && ` (${head.no_unit})`}`,
        ),
      );
    } else {
      const points = reviewed
        .filter((one) => one.best_value_in_unit !== null)
        .map((one) => ({
          x: one.move - 1,
          y: this.worthOf(one, one.best_value_in_unit),
          blunder: one.blunder,
          title: `${one.move}. ${one.played}, better ${one.best}`,
        }));
      if (done && head.result !== null && head.is_chance && reviewed.length) {
        points.push({ x: reviewed.length, blunder: false, title: "", y: about.players === 2 ? (head.result + 1) / 2 : points.at(-1).y });
      }
      const high = head.is_chance ? 1 : Math.max(1, ...points.map((one) => one.y)) * 1.05;
      const ticks = head.is_chance
        ? [
            [0, "0 %"],
            [0.5, "50 %"],
            [1, "100 %"],
          ]
        : [0, 0.5, 1].map((t) => [t * high, Math.round(t * high).toLocaleString("en")]);
      const whose = about.players === 2 ? `, for ${names[0]}` : "";
      this.picture.replaceChildren(
        h(
          "p",
          { class: "quiet" },
          `${head.unit}${whose}; before each move${head.has_solver ? ", by the exact solver if it answers in time" : ""}; red: blunders; click to see the position`,
        ),
        curve(points, { low: 0, high, ticks, label: `${head.unit}${whose} over ${reviewed.length} moves`, at: this.at, choose: (k) => this.goTo(k) }),
      );
    }
    this.showWorst();
  }

  summary() {
    const blunders = this.reviewed.filter((one) => one.blunder).length;
    const titles = new Map([["human", "a person"], ...this.about.opponents.map((one) => [one.name, one.title])]);
    const who = this.game.players.length ? `${this.game.players.map((name) => titles.get(name) ?? name).join(" against ")}: ` : "";
    const mistakes = blunders ? `${blunders} of them ${blunders === 1 ? "a blunder" : "blunders"}` : "none of them a blunder";
    const ending = this.head.ending.replace(/player ([12])/, (text, player) => this.module.players?.[player - 1] ?? text);
    return sentence(`${who}${this.reviewed.length} moves, ${this.head.unit === null ? "" : `${mistakes}; `}${ending}.`);
  }

  showWorst() {
    const loss = (one) => one.loss_in_unit ?? one.loss;
    const worst = [...this.reviewed]
      .filter((one) => loss(one) > 1e-9)
      .sort((a, b) => loss(b) - loss(a))
      .slice(0, 12);
    const names = this.module.players || ["player 1", "player 2"];
    this.worst.replaceChildren(
      h("h2", {}, "Largest losses"),
      worst.length
        ? h(
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
                  ["Move", "Played", "worth", "Better", "worth"].map((word) => h("th", { scope: "col" }, word)),
                ),
              ),
              h(
                "tbody",
                {},
                worst.map((one) =>
                  h(
                    "tr",
                    { class: one.blunder ? "blunder" : null },
                    h(
                      "th",
                      { scope: "row" },
                      h("button", { onclick: () => this.goTo(one.move - 1) }, `${one.move}.${this.about.players === 2 ? ` ${names[one.player - 1]}` : ""}`),
                    ),
                    h("td", {}, one.played),
                    h("td", {}, withDifference(one.worth, one.cost)),
                    h("td", {}, one.best),
                    h("td", {}, one.best_worth),
                  ),
                ),
              ),
            ),
          )
        : h("p", {}, "none"),
    );
  }

  /** Shows the position before a move. */
  async goTo(index) {
    const step = this.decisions[index] || this.decisions.at(-1),
      before = index < this.decisions.length ? step.k : this.game.steps.length;
    const text = before ? this.game.steps[before - 1].text : this.game.first;
    this.at = index;
    const state = await trying(() => ask("api/state", { ...this.variant, text, svg: Boolean(this.module.needsSvg) }));
    if (!state) return;
    const one = this.reviewed[index];
    this.board.show(state, {
      live: false,
      last: [],
      worths: one ? { [one.played]: one.worth, [one.best]: one.best_worth } : null,
      shares: null,
      best: one?.best ?? null,
      line: [],
    });
    if (this.reviewed.length) this.draw(this.reviewed.length === this.head?.moves);
    const link = address({ page: "analyse", ...this.variant, start: text });
    this.link.replaceChildren(h("a", { href: link }, `Analyse this position (before move ${index + 1})`));
  }
}
