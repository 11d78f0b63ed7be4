// What the browser keeps of the page; one that keeps nothing, or has no room, is no error.

/** Returns what is kept under a name, "" where that is nothing. */
export function kept(name) {
  try {
    return localStorage[name] ?? "";
  } catch {
    return ""; // where the browser lets no page keep anything
  }
}

/** Keeps a text under a name; returns whether there was room. */
export function keep(name, text) {
  try {
    localStorage[name] = text;
    return true;
  } catch {
    return false;
  }
}
