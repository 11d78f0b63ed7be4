// A game and its search, compiled for WebAssembly. Questions are written to its memory in the form of leafwise.search.answering.

import { exp } from "./exp.js";

const [LOOK, ACT, CHECK, BEGIN, DEEPEN, PLANT, SIMULATE, FOLLOW] = [0, 1, 2, 3, 4, 5, 6, 7];
const [WHAT, AT, ALL, PLAYER, STAGE, COUNT, DONE, BEST] = [0, 1, 2, 3, 4, 5, 6, 7];
const [NODES, LEAVES, , FAILED, CUTS] = [0, 1, 2, 3, 4]; // of the search's counts
const [TREE_NODES, , TREE_SIMULATIONS, TREE_LEAVES, , , DEEPEST] = [0, 1, 2, 3, 4, 5, 6]; // of the tree's
const SLICE = 50, // maximum milliseconds of one slice of simulations
  FIRST_SLICE = 16; // simulations of the first slice
export const CHANCE = -1;
const OVER = -4,
  ROUNDING = 1e-12,
  TYPES = {
    uint64: BigUint64Array,
    int64: BigInt64Array,
    uint32: Uint32Array,
    int32: Int32Array,
    uint16: Uint16Array,
    int16: Int16Array,
    uint8: Uint8Array,
    int8: Int8Array,
    bool: Uint8Array,
    float64: Float64Array,
  };

/** Returns the next number after x in the direction of y. */
function nextafter(x, y) {
  if (x === y || Number.isNaN(x + y)) return y;
  if (x === 0) return y > 0 ? Number.MIN_VALUE : -Number.MIN_VALUE;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  view.setBigInt64(0, view.getBigInt64(0) + (y > x === x > 0 ? 1n : -1n));
  return view.getFloat64(0);
}

export class Engine {
  /** `image` is the memory as an ArrayBuffer, `layout` its entry in the index. */
  constructor(module, image, layout) {
    const memory = new WebAssembly.Memory({ initial: layout.pages });
    new Uint8Array(memory.buffer).set(new Uint8Array(image), layout.base);
    const clock = (_, at) => {
      const now = performance.now() * 1e6;
      new BigInt64Array(memory.buffer, at, 2).set([BigInt(Math.floor(now / 1e9)), BigInt(Math.floor(now % 1e9))]);
      return 0;
    };
    const env = { memory, clock_gettime: clock, numba_nextafter: nextafter, exp };
    for (const { name, kind } of WebAssembly.Module.imports(module)) if (kind === "function") env[name] ??= Math[name];
    /** @type {any} */
    const { answer } = new WebAssembly.Instance(module, { env }).exports;
    this.run = () => answer(layout.base, layout.base + 8, BigInt(layout.held)); // the arguments are addresses for a result and an error
    const views = Object.entries(layout.places).map(([path, [at, type, shape]]) => [
      path,
      new TYPES[type](
        memory.buffer,
        at,
        shape.reduce((a, b) => a * b),
      ),
    ]);
    this.views = Object.fromEntries(views);
    this.width = layout.places.S[1 + 1][1];
    this.figures = layout.figures;
    this.growth = layout.growth;
    this.most = layout.most ?? Infinity;
    this.depth = layout.depth;
  }

  ask(what, at = 0, all = 1) {
    const { call } = this.views;
    [call[WHAT], call[AT], call[ALL]] = [BigInt(what), BigInt(at), BigInt(all)];
    if (this.run()) throw new Error("the compiled search failed");
    return Number(call[COUNT]);
  }

  /** Returns row k of S as BigInts. */
  rowAt(k) {
    return Array.from(this.views.S.subarray(k * this.width, (k + 1) * this.width), BigInt);
  }

  get row() {
    return this.rowAt(0);
  }

  set row(words) {
    const { S } = this.views;
    S.set(S instanceof BigInt64Array || S instanceof BigUint64Array ? words : words.map(Number));
  }

  /** Whether a row is a position. */
  check(row) {
    this.row = row;
    return this.ask(CHECK) > 0;
  }

  /** Returns a position by the rules: player, legal action ids, outcomes of chance, figures. */
  look(row) {
    this.row = row;
    const n = this.ask(LOOK),
      { call, actions, values } = this.views,
      P = this.views["B.P"],
      player = Number(call[PLAYER]);
    return {
      player,
      over: player === OVER,
      stage: Number(call[STAGE]),
      returns: values[0],
      figures: Object.fromEntries(this.figures.map((name, k) => [name, Number(this.views.figures[k])])),
      actions: player >= 0 ? Array.from(actions.subarray(0, n), Number) : [],
      outcomes: player === CHANCE ? Array.from({ length: n }, (_, k) => ({ p: P[1 + k], row: this.rowAt(1 + k) })) : [],
    };
  }

  act(row, action) {
    this.row = row;
    this.ask(ACT, action);
    return this.row;
  }

  /** Sets the maximum number of decisions of a depth (0: no limit), as leafwise.search divides it among root actions. */
  limit(nodes, actions) {
    const cost = nodes ? (actions ? (nodes > 1 ? actions / (nodes - 1) : 2) : 1 / nodes) : 0;
    this.views["B.options.node_cost"][0] = cost;
    this.views["B.options.cutoff"][0] = cost * (this.growth?.rounded ?? 0);
    this.views["B.counts"][CUTS] = 0n;
  }

  /**
   * Yields the results of deeper and deeper searches until the time, if any, is up: action values for the player who acts. With
   * all: false it is the value of the best action, and bounds of the others. The first result is always complete. If the game
   * limits the decisions of a depth, the first depth is searched with more and more of them, or each depth with `nodes`.
   */
  *deepen(row, { seconds = 0, depth = this.depth, all = true, nodes = 0 }) {
    const { call, actions, values } = this.views,
      counts = this.views["B.counts"],
      deadline = this.views["B.deadline"],
      begun = performance.now();
    this.row = row;
    deadline[1] = 0n;
    const considered = this.ask(BEGIN);
    call[COUNT] = 0n;
    for (let left = 1, most = nodes || (this.growth?.first ?? 0); left <= depth;) {
      this.limit(most, considered);
      const n = this.ask(DEEPEN, left, Number(all)),
        late = counts[FAILED] !== 0n,
        grows = most > nodes,
        bounds = this.views.is_bound;
      if (late && (all || grows || call[DONE] === 0n)) return;
      const moves = Array.from({ length: n }, (_, k) => ({ action: Number(actions[k]), value: values[k], bound: bounds[k] !== 0 }));
      moves.sort((a, b) => a.action - b.action);
      const exact = moves.filter((one) => all || !one.bound),
        best = exact.reduce((a, b) => (b.value > a.value ? b : a), exact[0]);
      const value = best ? best.value : values[0];
      yield { action: best?.action ?? null, value, values: moves, depth: late ? left - 1 : left, nodes: Number(counts[NODES]), leaves: Number(counts[LEAVES]) };
      if (late || (!all && (n === 1 || value >= this.most - ROUNDING))) return;
      if (seconds) deadline[1] = BigInt(Math.ceil((begun + 1000 * seconds) * 1e6));
      if (grows && counts[CUTS]) {
        most *= this.growth.more;
        call[COUNT] = 0n;
      } else {
        most = nodes;
        left++;
      }
    }
  }

  /** Yields the results of a tree search from a decision, until `simulations` are done, the time is up or the value is proven. */
  *simulate(row, { seconds = 0, simulations = Infinity }) {
    const { call, actions, values, visits } = this.views,
      counts = this.views["tree.counts"],
      begun = performance.now(),
      end = seconds ? begun + 1000 * seconds : Infinity;
    this.row = row;
    this.ask(PLANT);
    if (call[DONE] === 0n) throw new Error("the tree search has no room for this position");
    for (let done = 0, slice = FIRST_SLICE, now = begun; ;) {
      const most = Math.min(slice, simulations - done),
        before = now,
        n = this.ask(SIMULATE, most);
      now = performance.now();
      done += Number(call[DONE]);
      const moves = Array.from({ length: n }, (_, k) => ({ action: Number(actions[k]), value: values[k], visits: Number(visits[k]), bound: false }));
      const { action, value } = moves[Number(call[BEST])];
      yield {
        action,
        value,
        values: moves,
        depth: Number(counts[DEEPEST]),
        nodes: Number(counts[TREE_NODES]),
        leaves: Number(counts[TREE_LEAVES]),
        simulations: Number(counts[TREE_SIMULATIONS]),
      };
      if (call[DONE] < BigInt(most) || done >= simulations || now >= end) return;
      const each = Math.max((now - before) / most, 1e-4);
      slice = Math.max(1, Math.min(2 * slice, Math.floor(Math.min(SLICE, end - now) / each)));
    }
  }

  /** Returns the best action at a decision in the last search tree, null if the tree does not have it. */
  follow(row) {
    this.row = row;
    return this.ask(FOLLOW) ? Number(this.views.call[BEST]) : null;
  }

  /** Returns work() without a change to the running search. */
  aside(work) {
    const { S, call, actions, values } = this.views,
      kept = [S, call, actions, values, this.views.is_bound, this.views["B.counts"], this.views["B.deadline"]].map((view) => [
        view,
        view.slice(0, view === S ? this.width : undefined),
      ]);
    try {
      return work();
    } finally {
      for (const [view, before] of kept) view.set(before);
    }
  }
}
