// The games that were played in this browser: their addresses, which hold all of them.

const MOST = 12;

/** Returns [{id, game, title, href, says, when}], the newest first. */
export function played() {
  try {
    return JSON.parse(localStorage.played || "[]");
  } catch {
    return []; // written by something else
  }
}

/** Notes a game, in place of what was noted under its `id`. */
export function notePlayed(one) {
  localStorage.played = JSON.stringify([{ ...one, when: Date.now() }, ...played().filter((other) => other.id !== one.id)].slice(0, MOST));
}

export function forgetPlayed() {
  localStorage.removeItem("played");
}
