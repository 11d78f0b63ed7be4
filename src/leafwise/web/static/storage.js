// The browser's storage for the page; no storage and no room are not errors.

/** Returns the text stored under a name, "" if there is none. */
export function kept(name) {
  try {
    return localStorage[name] ?? "";
  } catch {
    return ""; // the browser allows no storage
  }
}

/** Stores a text under a name; returns whether there was room. */
export function keep(name, text) {
  try {
    localStorage[name] = text;
    return true;
  } catch {
    return false;
  }
}
