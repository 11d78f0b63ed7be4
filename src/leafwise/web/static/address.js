// The address holds a page and its game: #/PAGE/GAME?o=OPTIONS&t=START&m=STEPS&... So a link shares a game, and a restart loses none.
// Steps are moves and outcomes of chance, joined by "~".

/** Parses an address into {page, game, options, start, moves, more}; `more` has all other fields. */
export function readAddress(hash = location.hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [page = "", game = ""] = path.split("/").map(decodeURIComponent);
  const fields = new URLSearchParams(query);
  const more = Object.fromEntries([...fields].filter(([name]) => !["o", "t", "m"].includes(name)));
  let options = {};
  try {
    options = JSON.parse(fields.get("o") || "{}");
  } catch {
    // a truncated link opens the default variant
  }
  const moves = (/(?:^|&)m=([^&]*)/.exec(query) || ["", ""])[1];
  return { page, game, options, start: fields.get("t") || "", moves: moves ? moves.split("~").map(decodeURIComponent) : [], more };
}

/** Returns the address (a hash) of a page and its game. */
export function address({ page, game = "", options = {}, start = "", moves = [], more = {} }) {
  const parts = [];
  if (Object.keys(options).length) parts.push(`o=${encodeURIComponent(JSON.stringify(options))}`);
  if (start) parts.push(`t=${encodeURIComponent(start)}`);
  for (const [name, value] of Object.entries(more)) if (value !== "") parts.push(`${name}=${encodeURIComponent(value)}`);
  if (moves.length) parts.push(`m=${moves.map((name) => encodeURIComponent(name).replaceAll("~", "%7E")).join("~")}`);
  return `#/${page}${game ? `/${encodeURIComponent(game)}` : ""}${parts.length ? `?${parts.join("&")}` : ""}`;
}

/** Shows an address in the browser's bar without opening it. */
export function keepAddress(target) {
  history.replaceState(null, "", address(target));
}
