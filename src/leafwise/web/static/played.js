// The games that were played in this browser: their addresses hold the whole games.

import { keep, kept } from "./storage.js";

const MOST = 12;

/** Returns [{id, game, title, href, says, when}], newest first. */
export function played() {
  try {
    return JSON.parse(kept("played") || "[]");
  } catch {
    return []; // written by other code
  }
}

/** Stores a game under its `id`, and drops the oldest games if there is no room; returns whether it is stored. */
export function notePlayed(one) {
  const games = [{ ...one, when: Date.now() }, ...played().filter((other) => other.id !== one.id)].slice(0, MOST);
  while (games.length && !keep("played", JSON.stringify(games))) games.pop();
  return games.length > 0;
}

export function forgetPlayed() {
  keep("played", "[]");
}
