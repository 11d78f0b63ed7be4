// A game under way: its steps, every one with the position after it, and the latest position as the server tells it.

import { ask } from "./api.js";
import { gameModule } from "./games/index.js";

/** A number to draw chance from. */
export const newSeed = () => Math.floor(Math.random() * 2 ** 48);

const MOST_KEPT = 8;

/** Whether a game goes at first as `way` does. */
const begins = (game, way) => way.every((name, k) => name === game[k]);

export class Session {
  /** @type {any} the answer of /api/game */ about;
  /** @type {any} what draws the game, as games/index.js tells it */ module;
  /** @type {{game: string, options: object}} */ variant;
  /** @type {number | null} */ seed;
  /** @type {string} the position that the steps begin at */ first;
  /** @type {any[]} steps as /api/state tells them */ steps;
  /** @type {any} the newest answer of /api/state */ state;
  /** @type {boolean} */ startGiven;
  /** @type {string[][]} other ways that the game went, each as the names of its steps */ kept = [];
  /** @type {Map<string, any>} positions that were looked at */ seen = new Map();

  /** Returns the game of an address. Chance is drawn from `seed`, or told by hand where that is null. */
  static async open({ game, options, start, moves }, seed) {
    const session = new Session();
    [session.about, session.module] = await Promise.all([ask("api/game", { game, options }), gameModule(game)]);
    session.variant = { game, options };
    session.seed = seed;
    const answer = await session.tell(start, moves, 0);
    [session.first, session.steps, session.state] = [answer.first, answer.steps, answer];
    return session;
  }

  /** Returns what the server says of a position and steps from there, of which `before` others came. */
  tell(text, moves, before, settle = true) {
    const seed = this.seed === null || !settle ? {} : { seed: (this.seed + 7919 * (before + moves.length)) % 2 ** 53 };
    return ask("api/state", { ...this.variant, text, moves, ...seed, svg: Boolean(this.module.needsSvg) });
  }

  /** Makes changes one after another: each begins at the position that the one before it led to. */
  inTurn(change) {
    const done = Promise.resolve(this.changing).then(change);
    this.changing = done.catch(() => {});
    return done;
  }

  /** Plays a move, or an outcome told by hand; chance that follows is drawn. */
  play(name) {
    return this.inTurn(async () => {
      this.state = await this.tell(this.state.text, [name], this.steps.length);
      this.steps.push(...this.state.steps);
    });
  }

  /** Draws the chance that acts now. */
  settle() {
    return this.inTurn(async () => {
      this.state = await this.tell(this.state.text, [], this.steps.length);
      this.steps.push(...this.state.steps);
    });
  }

  /** Goes back, without drawing chance, to the position after as many steps as `count` returns; nowhere if that is below 0. */
  goBack(count) {
    return this.inTurn(async () => {
      const kept = count();
      if (kept < 0) return;
      this.state = await this.tell(this.textAt(kept), [], kept, false);
      this.keep();
      this.steps.length = kept;
    });
  }

  /** Keeps the way that the game went until now, to be taken again. */
  keep() {
    const now = this.addressFields.moves;
    this.kept = [now, ...this.kept.filter((way) => !begins(now, way))].slice(0, MOST_KEPT);
  }

  /** Takes one of the ways that were kept, and keeps the one that it leaves. */
  take(way) {
    return this.inTurn(async () => {
      const answer = await this.tell(this.first, way, 0, false);
      this.keep();
      [this.steps, this.state] = [answer.steps, answer];
    });
  }

  /** @returns {[number, string[]][]} the ways that are kept, but for those that are a part of how the game goes now: [steps in common, names of all steps]. */
  get others() {
    const now = this.addressFields.moves;
    return this.kept.filter((way) => !begins(now, way)).map((way) => [way.findIndex((name, k) => name !== now[k]), way]);
  }

  /** Returns these ways as text for an address, and takes them from one. */
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
      this.kept = []; // of a link that was cut off
    }
  }

  /** Returns the position after so many steps; those seen before are not asked for again. */
  async stateAt(count) {
    const text = this.textAt(count);
    if (text === this.state.text) return this.state;
    if (!this.seen.has(text)) this.seen.set(text, await this.tell(text, [], count, false));
    return this.seen.get(text);
  }

  /** Returns where one may stop to look: numbers of steps, 0 first, then after each decision and what chance did after it. */
  get stops() {
    const ends = this.steps.flatMap((step, k) => (step.player !== "chance" && k ? [k] : []));
    return [...new Set([0, ...ends, this.steps.length])];
  }

  textAt(count) {
    return count ? this.steps[count - 1].text : this.first;
  }

  /** Returns where undo leads: the number of steps before the last decision of one of these players (1, 2), or -1. */
  undoPoint(people) {
    return this.steps.findLastIndex((step) => people.includes(step.player));
  }

  /** Returns the steps since the last decision, that one included: what is new on the board. */
  get last() {
    return this.lastBefore(this.steps.length);
  }

  /** Returns the same for the position after so many steps. */
  lastBefore(count) {
    const steps = this.steps.slice(0, count),
      at = steps.findLastIndex((step) => step.player !== "chance");
    return at < 0 ? [] : steps.slice(at);
  }

  /** What an address holds of the game: options, start and steps. */
  get addressFields() {
    return { game: this.variant.game, options: this.variant.options, start: this.startGiven ? this.first : "", moves: this.steps.map((step) => step.name) };
  }

  /** Returns the game as the text of a file. */
  async file(players = []) {
    const body = { ...this.variant, text: this.first, moves: this.addressFields.moves, players };
    return (await ask("api/record", body)).file;
  }
}
