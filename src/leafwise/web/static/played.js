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

/** Notes a game, in place of what was noted under its `id`; the oldest are dropped where there is no room. Returns whether it is kept. */
export function notePlayed(one) {
  const games = [{ ...one, when: Date.now() }, ...played().filter((other) => other.id !== one.id)].slice(0, MOST);
  for (; games.length; games.pop()) {
    try {
      localStorage.played = JSON.stringify(games);
      return true;
    } catch {
      // the browser's store is full, or closed to the page
    }
  }
  return false;
}

export function forgetPlayed() {
  localStorage.removeItem("played");
}
