// Searches and exact answers for the position on the board, as they come.

import { stream } from "./api.js";

/** Streams the analysis of a position to `tell(answer)`, until `signal` ends it; `stage` hears loading, working, waiting. */
export async function analyse(variant, text, leaf, seconds, tell, stage, signal) {
  for await (const { event, data } of stream("api/analyse", { ...variant, text, leaf, seconds }, signal)) {
    if (event === "answer") tell({ no_unit: "", ...data, unit: data.unit ?? "score of the leaf", best: data.best_actions[0] ?? null });
    if (event === "stage") stage(data);
  }
}

/** Returns the exact answer for a position, or what was known when the time was up. */
export async function solve(variant, text, seconds, signal) {
  let found = null;
  for await (const { event, data } of stream("api/solve", { ...variant, text, seconds }, signal)) {
    if (event === "answer") found = data;
  }
  return found;
}

/** Returns how strongly each action is to be lit, 0 to 1, by what it is worth. */
export function shares(answer) {
  const worth = answer.action_values_in_unit || answer.action_values, values = Object.values(worth);
  const low = Math.min(...values), span = Math.max(...values) - low;
  const chance = answer.unit.startsWith("chance");
  return Object.fromEntries(Object.entries(worth).map(([name, value]) =>
    [name, chance ? value : span ? (value - low) / span : 1]));
}

const WORDS = { 1: "win", 0: "draw", "-1": "loss" };

/** Returns an exact answer in the form of an analysis: what to draw on the board. */
export function exactMarks(found) {
  const worths = Object.fromEntries(Object.entries(found.action_values).map(([name, value]) => [
    name, (WORDS[value] || `${(100 * (value + 1) / 2).toFixed(1)} %`)
      + (found.action_scores && value ? ` ${found.action_scores[name] > 0 ? "+" : "−"}${Math.abs(found.action_scores[name])}` : "")]));
  return {
    worths, best: found.line[0] || found.best_actions[0] || null, line: found.line,
    shares: Object.fromEntries(Object.entries(found.action_values).map(([name, value]) => [name, (value + 1) / 2])),
  };
}
