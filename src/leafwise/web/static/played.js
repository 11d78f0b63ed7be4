// The games that were played in this browser: their addresses, which hold all of them.

import { keep, kept } from "./storage.js";

const MOST = 12;

/** Returns [{id, game, title, href, says, when}], the newest first. */
export function played() {
  try {
    return JSON.parse(kept("played") || "[]");
  } catch {
    return []; // written by something else
  }
}

/** Notes a game, in place of what was noted under its `id`, and drops the oldest ones where there is no room; returns whether it is kept. */
export function notePlayed(one) {
  const games = [{ ...one, when: Date.now() }, ...played().filter((other) => other.id !== one.id)].slice(0, MOST);
  while (games.length && !keep("played", JSON.stringify(games))) games.pop();
  return games.length > 0;
}

export function forgetPlayed() {
  keep("played", "[]");
}
