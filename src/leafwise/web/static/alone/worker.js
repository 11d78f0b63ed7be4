// Runs searches in a thread. Ending the thread stops its search.

import { CHANCE, Engine } from "./engine.js";

const LINE_SECONDS = 0.02,
  MAX_LINE = 10,
  FIRST_LINE = 50; // milliseconds until the first line; the next ones follow after twice the time each
/** @type {any} */
const host = self;
/** @type {Engine} */
let engine;

/** Returns the best action of a short search. */
function briefly(row) {
  let action = null;
  for (const result of engine.deepen(row, { seconds: LINE_SECONDS })) ({ action } = result);
  return action;
}

/** Returns the principal variation: action ids, later ones by `next(row)`, and [before, after] for the most probable outcomes of chance. */
function line(row, action, depth, next) {
  const steps = [];
  for (let left = Math.min(depth, MAX_LINE); action !== null && left > 0; left--) {
    row = engine.act(row, action);
    steps.push(action);
    let seen = engine.look(row);
    while (seen.player === CHANCE) {
      const after = seen.outcomes.reduce((a, b) => (b.p > a.p ? b : a)).row;
      steps.push([row, after]);
      row = after;
      seen = engine.look(row);
    }
    if (seen.over || left === 1) break;
    action = next(row);
  }
  return steps;
}

host.onmessage = ({ data }) => {
  if (data.module) {
    engine = new Engine(data.module, data.image, data.layout);
    return;
  }
  let steps = [],
    last = null,
    nextLine = FIRST_LINE;
  const begun = performance.now(),
    { row, tree = false } = data,
    answers = tree ? engine.simulate(row, data) : engine.deepen(row, data),
    next = tree ? (at) => engine.follow(at) : briefly;
  for (last of answers) {
    const spent = performance.now() - begun,
      { action, depth } = last;
    if (!data.lines || (tree && spent < nextLine)) continue;
    if (spent >= nextLine) {
      steps = engine.aside(() => line(row, action, depth, next));
      nextLine = 2 * spent;
    }
    host.postMessage({ ...last, line: steps });
  }
  if (data.lines && last) steps = line(row, last.action, last.depth, next);
  host.postMessage({ ...last, line: steps, done: true });
};
