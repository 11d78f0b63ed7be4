// A running game: its steps, each with the next position, and the latest position in full.

import { ask } from "./api.js";
import { gameModule } from "./games/index.js";

/** Returns a random seed. */
export const newSeed = () => Math.floor(Math.random() * 2 ** 48);

const MOST_KEPT = 8;

/** Whether a game begins with the steps of `way`. */
const begins = (game, way) => way.every((name, k) => name === game[k]);

export class Session {
  /** @type {any} the answer of /api/game */ about;
  /** @type {any} the game's module, see games/index.js */ module;
  /** @type {{game: string, options: object}} */ variant;
  /** @type {number | null} */ seed;
  /** @type {string} the position before the first step */ first;
  /** @type {any[]} steps in the form of /api/state */ steps;
  /** @type {any} the newest answer of /api/state */ state;
  /** @type {boolean} */ startGiven;
  /** @type {string[][]} other lines of the game, each as the names of its steps */ kept = [];
  /** @type {Map<string, any>} positions that were shown */ seen = new Map();

  /** Opens the game of an address. Chance is drawn from `seed`, or chosen by hand if that is null. */
  static async open({ game, options, start, moves }, seed) {
    const session = new Session();
    [session.about, session.module] = await Promise.all([ask("api/game", { game, options }), gameModule(game)]);
    session.variant = { game, options };
    session.seed = seed;
    const answer = await session.tell(start, moves, 0);
    [session.first, session.steps, session.state] = [answer.first, answer.steps, answer];
    return session;
  }

  /** Returns the server's answer on a position and steps from there; `before` steps came earlier. */
  tell(text, moves, before, settle = true) {
    const seed = this.seed === null || !settle ? {} : { seed: (this.seed + 7919 * (before + moves.length)) % 2 ** 53 };
    return ask("api/state", { ...this.variant, text, moves, ...seed, svg: Boolean(this.module.needsSvg) });
  }

  /** Runs changes one after another, each from the position after the previous one. */
  inTurn(change) {
    const done = Promise.resolve(this.changing).then(change);
    this.changing = done.catch(() => {});
    return done;
  }

  /** Plays a move, or an outcome chosen by hand; following chance is drawn. */
  play(name) {
    return this.inTurn(async () => {
      this.state = await this.tell(this.state.text, [name], this.steps.length);
      this.steps.push(...this.state.steps);
    });
  }

  /** Draws the current outcomes of chance. */
  settle() {
    return this.inTurn(async () => {
      this.state = await this.tell(this.state.text, [], this.steps.length);
      this.steps.push(...this.state.steps);
    });
  }

  /** Goes back to the position after count() steps without drawing chance; does nothing if that is below 0. */
  goBack(count) {
    return this.inTurn(async () => {
      const kept = count();
      if (kept < 0) return;
      this.state = await this.tell(this.textAt(kept), [], kept, false);
      this.keep();
      this.steps.length = kept;
    });
  }

  /** Remembers the current line of the game. */
  keep() {
    const now = this.addressFields.moves;
    this.kept = [now, ...this.kept.filter((way) => !begins(now, way))].slice(0, MOST_KEPT);
  }

  /** Switches to a remembered line, and remembers the current one. */
  take(way) {
    return this.inTurn(async () => {
      const answer = await this.tell(this.first, way, 0, false);
      this.keep();
      [this.steps, this.state] = [answer.steps, answer];
    });
  }

  /** @returns {[number, string[]][]} the remembered lines that leave the current one: [common steps, names of all steps]. */
  get others() {
    const now = this.addressFields.moves;
    return this.kept.filter((way) => !begins(now, way)).map((way) => [way.findIndex((name, k) => name !== now[k]), way]);
  }

  /** Returns these lines as text for an address. */
  get branches() {
    const { others } = this;
    return others.length ? JSON.stringify(others.map(([common, way]) => [common, ...way.slice(common)])) : "";
  }

  set branches(text) {
    const now = this.addressFields.moves;
    try {
      this.kept = JSON.parse(text || "[]")
        .map(([common, ...names]) => [...now.slice(0, common), ...names.map(String)])
        .slice(0, MOST_KEPT);
    } catch {
      this.kept = []; // of a truncated link
    }
  }

  /** Returns the position after `count` steps; positions are requested once. */
  async stateAt(count) {
    const text = this.textAt(count);
    if (text === this.state.text) return this.state;
    if (!this.seen.has(text)) this.seen.set(text, await this.tell(text, [], count, false));
    return this.seen.get(text);
  }

  /** Returns the positions to look at, as numbers of steps: 0, then after each decision with its chance. */
  get stops() {
    const ends = this.steps.flatMap((step, k) => (step.player !== "chance" && k ? [k] : []));
    return [...new Set([0, ...ends, this.steps.length])];
  }

  textAt(count) {
    return count ? this.steps[count - 1].text : this.first;
  }

  /** Returns the target of undo: the number of steps before the last decision of these players (1, 2), or -1. */
  undoPoint(people) {
    return this.steps.findLastIndex((step) => people.includes(step.player));
  }

  /** Returns the steps from the last decision on: what is new on the board. */
  get last() {
    return this.lastBefore(this.steps.length);
  }

  /** Returns these steps for the position after `count` steps. */
  lastBefore(count) {
    const steps = this.steps.slice(0, count),
      at = steps.findLastIndex((step) => step.player !== "chance");
    return at < 0 ? [] : steps.slice(at);
  }

  /** The game's fields of an address: options, start and steps. */
  get addressFields() {
    return { game: this.variant.game, options: this.variant.options, start: this.startGiven ? this.first : "", moves: this.steps.map((step) => step.name) };
  }

  /** Returns the game as the text of a file. */
  async file(players = []) {
    const body = { ...this.variant, text: this.first, moves: this.addressFields.moves, players };
    return (await ask("api/record", body)).file;
  }
}
