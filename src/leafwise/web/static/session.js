// A game under way: its steps, every one with the position after it, and the latest position as the server tells it.

import { ask } from "./api.js";
import { gameModule } from "./games/index.js";

/** A number to draw chance from. */
export const newSeed = () => Math.floor(Math.random() * 2 ** 48);

export class Session {
  /** Returns the game of an address. Chance is drawn from `seed`, or told by hand where that is null. */
  static async open({ game, options, start, moves }, seed) {
    const own = new Session();
    [own.about, own.module] = await Promise.all([ask("api/game", { game, options }), gameModule(game)]);
    own.variant = { game, options };
    own.seed = seed;
    const told = await own.tell(start, moves, 0);
    [own.first, own.steps, own.state] = [told.first, told.steps, told];
    return own;
  }

  /** Returns what the server says of a position and steps from there, of which `before` others came. */
  tell(text, moves, before, settle = true) {
    const seed = this.seed === null || !settle ? {} : { seed: (this.seed + 7919 * (before + moves.length)) % 2 ** 53 };
    return ask("api/state", { ...this.variant, text, moves, ...seed, svg: Boolean(this.module.needsSvg) });
  }

  /** Plays a move, or an outcome told by hand; chance that follows is drawn. Returns the steps. */
  async play(name) {
    const told = await this.tell(this.state.text, [name], this.steps.length);
    this.steps.push(...told.steps);
    this.state = told;
    return told.steps;
  }

  /** Goes back to the position after so many steps, without drawing chance. */
  async goTo(count) {
    this.state = await this.tell(this.textAt(count), [], count, false);
    this.steps.length = count;
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
    const at = this.steps.findLastIndex((step) => step.player !== "chance");
    return at < 0 ? [] : this.steps.slice(at);
  }

  /** What an address holds of the game: options, start and steps. */
  get told() {
    return {
      game: this.variant.game, options: this.variant.options,
      start: this.startGiven ? this.first : "", moves: this.steps.map((step) => step.name),
    };
  }

  /** Returns the game as the text of a file. */
  async file(players = []) {
    const body = { ...this.variant, text: this.first, moves: this.told.moves, players };
    return (await ask("api/record", body)).file;
  }
}
