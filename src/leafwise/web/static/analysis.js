// Searches and exact solutions of the position on the board, as they arrive.

import { stream } from "./api.js";

/** Streams the analysis of a position to `tell(answer)` until `signal` ends it; `stage` gets loading, working, waiting. */
export async function analyse(variant, text, leaf, seconds, tell, stage, signal) {
  for await (const { event, data } of stream("api/analyse", { ...variant, text, leaf, seconds }, signal)) {
    if (event === "answer") tell({ no_unit: "", ...data, unit: data.unit ?? "score of the leaf", best: data.best_actions[0] ?? null });
    if (event === "stage") stage(data);
  }
}

/** Returns the exact solution of a position, or what was known when the time was up. */
export async function solve(variant, text, seconds, signal) {
  let solution = null;
  for await (const { event, data } of stream("api/solve", { ...variant, text, seconds }, signal)) {
    if (event === "answer") solution = data;
  }
  return solution;
}

/** Returns a value with its difference from the best, unless that rounds to zero: "145,540 (-1,210)". */
export const withDifference = (worth, difference) => (/[1-9]/.test(difference) ? `${worth} (${difference})` : worth);

/** Returns an answer with whole turns instead of actions, if it has any. */
export function byTurns(answer) {
  const turns = Object.entries(answer.turns ?? {}).sort(([, x], [, y]) => y.value - x.value);
  if (!turns.length) return answer;
  const each = (field) => Object.fromEntries(turns.map(([name, turn]) => [name, turn[field]]));
  return { ...answer, best: turns[0][0], worths: each("worth"), action_values: each("value"), differences: each("difference"), shares: each("share") };
}

/** Returns the actions of a name in an answer: those of a whole turn, or itself. */
export const actionsOf = (answer, name) => answer.turns?.[name]?.actions ?? [name];

const EXACT_BLUNDER = 0.2; // a tenth of the range from a loss, -1, to a win, 1

/** Returns an exact solution as marks for the board. */
export function exactMarks(solution) {
  const best = Math.max(...Object.values(solution.action_values));
  return {
    worths: solution.words,
    action_values: solution.action_scores ?? solution.action_values,
    best: solution.line[0] || solution.best_actions[0] || null,
    line: solution.line,
    turns: solution.turns,
    shares: Object.fromEntries(Object.entries(solution.action_values).map(([name, value]) => [name, 1 - (best - value) / EXACT_BLUNDER])),
  };
}
