// Answers requests without a server, by the rules and the search of each exported game, compiled for WebAssembly. Rules run in this
// thread, searches in others. The answers are those of docs/howto/web.md.

import { h } from "../dom.js";
import { Problem } from "../problem.js";
import { CHANCE, Engine } from "./engine.js";
import { loadAll } from "./files.js";
import { gamesOf } from "./gamefile.js";

const PAGES = ["", "rules", "play", "analyse", "review", "companion", "gallery"];
const BLUNDER_CHANCE = 0.1,
  BLUNDER_SHARE = 0.1,
  LEAST_SLOPE = 0.1,
  FEW = 16,
  MAX_REVIEW = 900;

/** Whether a page exists. */
export const offers = (page) => PAGES.includes(page);

/** @type {Promise<any>} */
let reading;
const index = () => (reading ??= fetch(new URL("../index.json", import.meta.url)).then((response) => response.json()));

const { serviceWorker } = navigator; // none on plain http
if (serviceWorker) {
  const scope = new URL("../../", import.meta.url);
  serviceWorker.register(new URL("sw.js", scope), { scope: scope.href }).catch(() => {}); // the page works without it
  const forget = async ({ currentTarget: button }) => {
    await (await serviceWorker.getRegistration(scope))?.unregister();
    for (const name of await caches.keys()) if (name.startsWith("leafwise-")) await caches.delete(name);
    button.textContent = "Forgotten";
  };
  document.body.append(h("footer", { class: "quiet" }, "Kept in this browser, to open without a network. ", h("button", { onclick: forget }, "Forget")));
}

/** Returns a generator of numbers from 0 to 1 with a seed (the mixing of murmur3). */
function drawing(seed) {
  let state = Math.floor(seed % 2 ** 32) ^ Math.floor(seed / 2 ** 32);
  const mixed = () => {
    state = (state + 0x9e3779b9) | 0;
    let z = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return (z ^ (z >>> 16)) >>> 0;
  };
  return () => mixed() / 2 ** 32;
}

const opened = new Map();

/** Loads a variant. */
async function variantOf({ game, options = {} }) {
  const { variants } = await index();
  const sorted = (all) => JSON.stringify(Object.entries(all).sort());
  const one = variants.find(({ about }) => about.game === game && sorted({ ...about.option_defaults, ...options }) === sorted(about.option_values));
  if (!one) {
    const known = variants.map(({ about }) => [about.game, ...Object.entries(about.given_options).map(([name, value]) => `${name}=${value}`)].join(" "));
    throw new Problem(`expected a variant among ${known.join("; ")}, got another one; leafwise web has all`, 400);
  }
  if (!opened.has(one)) opened.set(one, Variant.load(one));
  return opened.get(one).catch((problem) => {
    opened.delete(one);
    throw problem;
  });
}

class Variant {
  /** @type {any} its entry in the index */ info;
  /** @type {WebAssembly.Module} */ module;
  /** @type {ArrayBuffer} */ image;
  /** @type {any} the module that writes and reads its texts */ texts;

  static async load(info) {
    const [[code, image], texts] = await Promise.all([loadAll([info.module, info.image], info.about.title.split(/,| \(/)[0]), import(`./${info.texts}.js`)]);
    return new Variant(info, await WebAssembly.compile(code), image, texts);
  }

  constructor(info, module, image, texts) {
    Object.assign(this, { info, module, image, texts });
    this.about = info.about;
    this.units = info.units;
    this.rules = new Engine(module, image, info.memory);
    this.given = info.drawing ?? { ...info.about.option_values, ...info.tables }; // the data that its texts need besides a row
    this.start = info.start.map(BigInt);
    /** @type {Map<string, bigint[]>} written positions: if the rules cannot check positions, only these can be read */
    this.known = new Map();
    /** @type {Worker[]} */
    this.idle = [];
  }

  write(row) {
    const text = this.texts.write(row, this.given);
    if (!this.about.reads) this.known.set(text, row);
    return text;
  }

  read(text) {
    if (!text) return this.start;
    if (this.known.has(text)) return this.known.get(text);
    if (!this.about.reads) throw new Problem("expected a position that a game led to on this page, got another one: share a game by its moves", 400);
    let rows;
    try {
      rows = this.texts.read(text, this.given, this.rules);
    } catch (problem) {
      throw new Problem(problem.message, 400);
    }
    const row = rows.find((one) => this.rules.check(one));
    if (!row) throw new Problem(`expected a position that a game leads to, got '${text.slice(0, 200)}'`, 400);
    return row;
  }

  /** Returns the outcomes of a chance node with their names. */
  named(row, outcomes) {
    const { stage } = this.rules.look(row),
      { length: n } = outcomes;
    return outcomes.map((one, k) => ({ ...one, name: this.texts.outcome?.(row, one.row, this.given, stage, k, n) || `#${k}` }));
  }

  /** Returns what chance did in words, undefined where a game has none. */
  outcomeWords(before, after) {
    return this.texts.outcomeWords?.(before, after, this.given, (row) => this.rules.look(row).figures);
  }

  worker() {
    const made = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    made.postMessage({ module: this.module, image: this.image, layout: this.info.memory });
    return made;
  }

  prepare() {
    if (!this.idle.length) this.idle.push(this.worker());
  }

  /** Yields the results of a search; `signal` ends it with its thread. */
  async *search(question, signal) {
    signal?.throwIfAborted();
    const worker = this.idle.pop() ?? this.worker(),
      messages = [];
    /** @type {(one?: any) => void} */
    let wake = () => {};
    worker.onmessage = ({ data }) => wake(messages.push(data));
    worker.onerror = (event) => wake(messages.push({ problem: event.message || "the search ended" }));
    const ended = () => wake(messages.push({ aborted: true }));
    signal?.addEventListener("abort", ended);
    worker.postMessage(question);
    let done = false;
    try {
      while (!done) {
        if (!messages.length) await new Promise((woken) => (wake = woken));
        const message = messages.shift();
        if (message.aborted) signal.throwIfAborted();
        if (message.problem) throw new Problem(message.problem, 500);
        ({ done = false } = message);
        yield message;
      }
    } finally {
      signal?.removeEventListener("abort", ended);
      if (done) this.idle.push(worker);
      else worker.terminate();
    }
  }

  /** Returns an offered leaf, with its kind of search. */
  leafOf(name = "best") {
    const { leaves } = this.about,
      leaf = name === "best" ? leaves[0] : leaves.find((one) => one.name === name);
    if (!leaf) throw new Problem(`expected a leaf among ${leaves.map((one) => one.name).join(", ")}, got '${name}'`, 400);
    return leaf;
  }

  // Values in people's units, as in leafwise.models.units.

  meaning(value) {
    if (!this.units) return value;
    const { values: v, meanings: m } = this.units,
      last = v.length - 1,
      inside = Math.min(Math.max(value, v[0]), v[last]);
    let k = v.findIndex((x) => x > inside) - 1;
    if (k < 0) k = Math.max(0, last - 1);
    const share = last ? (inside - v[k]) / (v[k + 1] - v[k]) : 0;
    const beyond = this.isShare || !last ? 0 : value - inside;
    return m[k] + (last ? share * (m[k + 1] - m[k]) : 0) + (beyond ? ((LEAST_SLOPE * (m[last] - m[0])) / (v[last] - v[0])) * beyond : 0);
  }

  get isShare() {
    return this.units.meanings[0] >= 0 && this.units.meanings.at(-1) <= 1;
  }

  text(meaning) {
    const fixed = (digits) => meaning.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    if (!this.units) return fixed(4);
    if (this.isShare) return `${(100 * meaning).toFixed(2)} %`;
    return fixed(this.units.meanings.at(-1) > 100 ? 0 : 2);
  }

  get isChance() {
    return this.units?.name.startsWith("chance to win") ?? false;
  }

  /** Returns the smallest loss, in the unit, that counts as a blunder; null without a unit. */
  blunder(best) {
    if (!this.units) return null;
    return this.isChance ? BLUNDER_CHANCE : BLUNDER_SHARE * Math.abs(best);
  }

  // Answers for the pages.

  position(row) {
    const { about } = this,
      seen = this.rules.look(row),
      text = this.write(row),
      points = this.texts.points?.(row, seen.returns, seen.figures) ?? seen.returns,
      actions = seen.actions.map((id) => about.actions[id]);
    const result = about.players === 1 ? `${points.toLocaleString("en")} points` : seen.returns === 0 ? "a draw" : `player ${seen.returns > 0 ? 1 : 2} wins`;
    return {
      text,
      board: this.texts.board?.(row, this.given, seen.figures) ?? text,
      svg: this.texts.svg?.(row, this.given),
      player: seen.over ? null : this.acting(seen),
      stage: about.stages[seen.stage],
      actions,
      words: this.texts.words && Object.fromEntries(actions.map((name) => [name, this.texts.words(row, name, this.given, seen.figures)])),
      outcomes: this.named(row, seen.outcomes).map((one) => ({
        name: one.name,
        words: this.outcomeWords(row, one.row) ?? one.name,
        probability: one.p,
        text: this.write(one.row),
      })),
      over: seen.over,
      returns: seen.returns,
      points,
      result: seen.over ? result : "",
    };
  }

  acting({ player }) {
    return player === CHANCE ? "chance" : player + 1;
  }

  /** Plays moves and outcomes of chance by name; returns the row and the steps. */
  replay(row, names) {
    const steps = names.map((name, k) => {
      const seen = this.rules.look(row),
        player = this.acting(seen),
        before = row;
      const id = this.about.actions.indexOf(name);
      if (player === "chance") row = this.named(row, seen.outcomes).find((one) => one.name === name)?.row;
      else row = seen.actions.includes(id) ? this.rules.act(row, id) : null;
      if (!row) throw new Problem(`expected a legal move or an outcome of chance, got '${name}' as step ${k + 1}`, 400);
      const words = player === "chance" ? this.outcomeWords(before, row) : this.texts.words?.(before, name, this.given, seen.figures);
      return { name, player, text: this.write(row), ...(words !== undefined && { words }) };
    });
    return { row, steps };
  }

  /** Draws the following chance; returns the row and the steps. */
  settle(row, random) {
    const steps = [];
    for (let seen; (seen = this.rules.look(row)).player === CHANCE;) {
      const outcomes = this.named(row, seen.outcomes);
      let left = random();
      const drawn = outcomes.find((one) => (left -= one.p) < 0) ?? outcomes.at(-1),
        words = this.outcomeWords(row, drawn.row);
      row = drawn.row;
      const step = { name: drawn.name, player: "chance", text: this.write(row), words, stage: this.about.stages[seen.stage], probability: drawn.p };
      steps.push(outcomes.length <= FEW ? { ...step, odds: Object.fromEntries(outcomes.map((one) => [one.name, one.p])) } : step);
    }
    return { row, steps };
  }

  state({ text, moves = [], seed = null }) {
    const first = this.read(text),
      given = this.replay(first, moves),
      drawn = seed === null ? { row: given.row, steps: [] } : this.settle(given.row, drawing(seed));
    return { ...this.position(drawn.row), first: this.write(first), steps: [...given.steps, ...drawn.steps] };
  }

  async *analyse({ text, leaf, seconds = 5 }, signal) {
    const row = this.read(text),
      { about, units } = this,
      { name: leafName, tree = false } = this.leafOf(leaf),
      seen = this.rules.look(row),
      begun = performance.now();
    const map = (all, convert) => Object.fromEntries(Object.entries(all).map(([name, value]) => [name, convert(value)]));
    if (tree && seen.player === CHANCE) throw new Problem("expected a decision for a tree search, got a position where chance acts", 400);
    for await (const result of this.search({ row, seconds, tree, lines: true }, signal)) {
      const values = Object.fromEntries(result.values.map((one) => [about.actions[one.action], one.value])),
        best = this.meaning(result.value),
        limit = this.blunder(best),
        line = result.line.map((step) => (typeof step === "number" ? about.actions[step] : this.nameOf(...step)));
      yield {
        position: text,
        player: seen.player === CHANCE ? null : seen.player + 1,
        value: result.value,
        best_actions: Object.keys(values).filter((name) => values[name] === result.value),
        action_values: values,
        unit: units?.name ?? null,
        no_unit: this.info.no_unit,
        value_in_unit: units ? best : null,
        line,
        ...(this.texts.words && { line_words: this.replay(row, line).steps.map((step) => step.words) }),
        nodes: result.nodes,
        leaves: result.leaves,
        depth: result.depth,
        leaf: leafName,
        worth: this.text(best),
        worths: map(values, (value) => this.text(this.meaning(value))),
        differences: map(values, (value) => (this.meaning(value) === best ? "" : this.text(this.meaning(value) - best))),
        shares: limit === null ? null : map(values, (value) => (limit ? 1 - (best - this.meaning(value)) / limit : 1)),
        seconds: (performance.now() - begun) / 1000,
      };
    }
  }

  nameOf(before, after) {
    const outcomes = this.named(before, this.rules.look(before).outcomes);
    return outcomes.find((one) => one.row.every((word, k) => word === after[k])).name;
  }

  async move({ text, player, seed = 0 }, signal) {
    const row = this.read(text),
      random = drawing(seed),
      { actions } = this.rules.look(row),
      opponent = this.about.opponents.find((one) => one.name === player);
    if (!opponent) throw new Problem(`expected a player among ${this.about.opponents.map((one) => one.name).join(", ")}, got '${player}'`, 400);
    let action = actions[Math.floor(random() * actions.length)];
    if (random() >= opponent.random) for await (const result of this.search({ row, all: false, ...opponent.search }, signal)) ({ action } = result);
    return { action: this.about.actions[action] };
  }

  /** Returns the state of a game that is played elsewhere, after a typed step or an undo. */
  follow({ text, moves = [], line = null, undo = false }) {
    const { about, rules } = this,
      { companion } = this.texts,
      whose = { game: about.game, options: about.given_options };
    if (!companion) throw new Problem(`expected a game that can be followed, got '${about.game}'`, 400);
    if (!text && moves.length) throw new Problem("expected no steps before a game has begun, got some", 400);
    if (!text && line === null) return { ...whose, question: { ...companion.begins, choices: [] }, first: "", moves, state: null, told: "" };
    const { first, note } = text ? { first: this.read(text), note: "" } : this.begin(line.trim());
    this.needFollowable(first);
    let { row, steps } = this.replay(first, undo ? this.withoutLast(first, moves) : moves);
    if (text && line !== null && !undo) {
      const done = this.replay(row, [line.trim()]);
      ({ row } = done);
      steps = [...steps, ...done.steps];
      for (let seen; (seen = rules.look(row)).player === CHANCE && seen.outcomes.length === 1;) {
        const [{ name, row: after }] = this.named(row, seen.outcomes);
        row = after;
        steps.push({ name, player: "chance", text: this.write(row) });
      }
    }
    const state = this.position(row),
      question = state.over ? { asks: companion.ending(row), choices: [], form: "" } : this.question(state);
    return { ...whose, question, first: this.write(first), moves: steps.map((step) => step.name), state, told: note };
  }

  /** Returns the first row of a followed game from a typed line, and a note on it. */
  begin(line) {
    const { text, draws, note } = this.texts.companion.begin(line);
    let first = this.read(text);
    if (draws) ({ row: first } = this.replay(first, [draws]));
    return { first, note: note(first) };
  }

  needFollowable(first) {
    const { over, stage } = this.rules.look(first);
    if (over) throw new Problem("expected a position to play, got a finished game", 400);
    if (this.about.stages[stage] === "setup") throw new Problem(`expected a board to play on, got one that is not complete: '${this.write(first)}'`, 400);
  }

  /** Returns the names of steps without the last typed one: an action, or a chance outcome that had alternatives. */
  withoutLast(row, names) {
    let last = names.length;
    names.forEach((name, k) => {
      const { player, outcomes } = this.rules.look(row);
      if (player !== CHANCE || outcomes.length > 1) last = k;
      ({ row } = this.replay(row, [name]));
    });
    return names.slice(0, last);
  }

  /** Returns the next choices: actions in their order, outcomes likeliest first. */
  question({ player, stage, actions, outcomes }) {
    const { companion } = this.texts,
      likely = [...outcomes].sort((a, b) => b.probability - a.probability),
      choices = player === "chance" ? likely.map((one) => [one.name, one.probability]) : actions.map((name) => [name, null]);
    return {
      asks: companion.asks(stage),
      choices: choices.map(([name, chance], k) => ({ name, words: name, number: k + 1, chance })),
      form: player === "chance" ? "" : companion.form,
    };
  }

  /** Yields the value and the loss of each decision of a game, by a search of `seconds` each. */
  async *review(row, names, { seconds, tree }, signal) {
    const { about, units } = this;
    let move = 0;
    for (const name of names) {
      const { player } = this.rules.look(row);
      if (player !== CHANCE) {
        let result;
        for await (result of this.search({ row, seconds, tree }, signal));
        const values = new Map(result.values.map((one) => [about.actions[one.action], one.value])),
          value = values.get(name),
          [best, played] = [result.value, value].map((one) => this.meaning(one)),
          cost = best - played,
          limit = this.blunder(best);
        if (value === undefined) throw new Problem(`move ${move + 1}: expected a search that considers '${name}', got one without it`, 400);
        yield {
          move: ++move,
          player: player + 1,
          played: name,
          value,
          best: about.actions[result.action],
          best_value: result.value,
          loss: result.value - value,
          unit: units?.name ?? null,
          value_in_unit: units ? played : null,
          best_value_in_unit: units ? best : null,
          loss_in_unit: units ? cost : null,
          exact: false,
          depth: result.depth,
          worth: this.text(played),
          best_worth: this.text(best),
          cost: cost ? this.text(-cost) : "",
          blunder: limit !== null && cost >= limit,
        };
      }
      ({ row } = this.replay(row, [name]));
    }
  }

  /** Returns a game as the text of a file. */
  record({ text, moves = [], players = [] }) {
    const { about } = this,
      first = this.read(text),
      { row, steps } = this.replay(first, moves),
      end = this.position(row);
    const start = this.write(first),
      tags = {
        Game: about.game,
        Options: Object.keys(about.given_options).length && about.given_options,
        Start: start !== this.write(this.start) && start,
        Players: players.length && players,
        Result: end.over ? end.returns : "*",
      };
    const lines = Object.entries(tags).flatMap(([name, value]) =>
      value === false || (value === 0 && name !== "Result") ? [] : [`[${name} ${JSON.stringify(value)}]`],
    );
    let number = 0;
    const quoted = (name) => (/^[^\s;">[\]]+$/.test(name) ? name : JSON.stringify(name));
    for (const { name, player } of steps) {
      if (player !== "chance") lines.push(`${++number}. ${quoted(name)}`);
      else if (number) lines[lines.length - 1] += ` > ${quoted(name)}`;
      else lines.push(`> ${quoted(name)}`);
    }
    return { file: `${lines.join("\n")}\n` };
  }
}

/** Reads a game of a file: its variant, first row, ending, and record for the pages. */
async function readGame({ tags, names, line }) {
  try {
    const variant = await variantOf({ game: tags.Game, options: tags.Options }),
      first = variant.read(tags.Start),
      { row, steps } = variant.replay(first, names),
      end = variant.position(row),
      { Players: players = [], Seed: seed = null, Result: givenResult } = tags;
    if (end.over && typeof givenResult === "number" && givenResult !== end.returns)
      throw new Problem(`expected the result ${end.returns}, got ${givenResult}`, 400);
    const result = end.over ? end.returns : typeof givenResult === "number" ? givenResult : null,
      ending = end.over ? end.result : tags.Termination || "not finished";
    return {
      variant,
      first,
      ending,
      record: { game: tags.Game, options: variant.about.given_options, first: variant.write(first), players, seed, result, steps },
    };
  } catch (problem) {
    throw problem.status === 400 ? new Problem(`game, line ${line}: ${problem.message}`, 400) : problem;
  }
}

/** Returns the games of a file. */
async function readGames(file) {
  const games = [];
  for (const one of gamesOf(file)) games.push((await readGame(one)).record);
  return { games };
}

/** Yields the review of a file's first game: the whole game, then each of its moves. */
async function* review({ file, leaf, seconds = 0.2 }, signal) {
  const [one] = gamesOf(file),
    { variant, first, ending, record } = await readGame(one),
    { name, tree = false } = variant.leafOf(leaf),
    moves = record.steps.filter(({ player }) => player !== "chance").length;
  if (moves * seconds > MAX_REVIEW)
    throw new Problem(`expected at most ${(MAX_REVIEW / moves).toFixed(3)} seconds for each of ${moves.toLocaleString("en")} moves, got ${seconds}`, 400);
  yield {
    moves,
    unit: variant.units?.name ?? null,
    no_unit: variant.info.no_unit,
    is_chance: variant.isChance,
    has_solver: false,
    leaf: name,
    result: record.result,
    ending,
    players: record.players,
  };
  yield* variant.review(first, one.names, { seconds, tree }, signal);
}

/** Returns the answer of an address without a body; throws Problem. */
export async function answer(path) {
  const { games, ships } = await index();
  if (path === "api/games") return { games };
  if (path === "api/gallery" && ships.length)
    return { ships: ships.map(({ file, ...one }) => ({ ...one, url: new URL(`../../data/${file}`, import.meta.url).href })) };
  throw new Problem("exact solvers, building ships and training need the program leafwise web; this page has no server", 404);
}

/** Yields the events of an answer as `{event, data}`, like a server. */
export async function* answers(path, body, signal) {
  const variant = body.file === undefined ? await variantOf(body) : null;
  const one = {
      "api/game": () => variant.about,
      "api/state": () => variant.state(body),
      "api/record": () => variant.record(body),
      "api/read": () => readGames(body.file),
      "api/prepare": () => variant.prepare(),
      "api/move": () => variant.move(body, signal),
      "api/follow": () => variant.follow(body),
    }[path],
    several = { "api/analyse": () => variant.analyse(body, signal), "api/review": () => review(body, signal) }[path];
  if (one) yield { event: "answer", data: await one() };
  else if (several) for await (const data of several()) yield { event: "answer", data };
  else throw new Problem("exact solvers, building ships and training need the program leafwise web; this page has no server", 404);
  yield { event: "done", data: true };
}
