// Searches in a thread of its own. Who wants one to stop ends the thread.

import { CHANCE, Engine } from "./engine.js";

const LINE_SECONDS = 0.02,
  MAX_LINE = 10,
  FIRST_LINE = 50; // milliseconds until a line is looked for, and then after twice the time each
/** @type {any} */
const host = self;
/** @type {Engine} */
let engine;

/** Returns the principal line: the ids of best moves, and [before, after] of what chance does most probably in between. */
function line(row, action, depth) {
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
    action = null;
    for (const found of engine.deepen(row, { seconds: LINE_SECONDS })) ({ action } = found);
  }
  return steps;
}

host.onmessage = ({ data }) => {
  if (data.module) {
    engine = new Engine(data.module, data.image, data.told);
    return;
  }
  let found = [],
    last = null,
    told = FIRST_LINE;
  const begun = performance.now();
  for (last of engine.deepen(data.row, data)) {
    const spent = performance.now() - begun,
      { action, depth } = last;
    if (!data.lines) continue;
    if (spent >= told) {
      found = engine.aside(() => line(data.row, action, depth));
      told = 2 * spent;
    }
    host.postMessage({ ...last, line: found });
  }
  if (data.lines && last) found = line(data.row, last.action, last.depth);
  host.postMessage({ ...last, line: found, done: true });
};
