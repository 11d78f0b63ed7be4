// Positions of Threes as text, in the form of leafwise.envs.threes.text.

const ACTIONS = ["up", "down", "left", "right"],
  FIELDS = ["next", "deck", "move", "lanes", "start", "slot"];
const [DECISION, ENTER, DRAW, SETUP] = [0, 1, 2, 3];
const [PLUS, WHITE] = [4, 5];
const WIDTHS = { phase: 2, shown: 3, low: 4, high: 4, deck: 9, lanes: 4, direction: 2, start: 4, slot: 5, used: 1 }; // bits of word 1
const valueOf = (rank) => (rank < 3 ? rank : 3 * 2 ** (rank - 3));
const RANKS = new Map(Array.from({ length: 16 }, (_, rank) => [String(valueOf(rank)), rank]));

const ranksOf = ([board]) => Array.from({ length: 16 }, (_, cell) => Number((board >> BigInt(4 * cell)) & 15n));

function unpacked([, word]) {
  let at = 0n;
  const field = (bits) => Number((word >> at) & ((1n << BigInt(bits)) - 1n));
  return Object.fromEntries(
    Object.entries(WIDTHS).map(([name, bits]) => {
      const entry = [name, field(bits)];
      at += BigInt(bits);
      return entry;
    }),
  );
}

function packed(fields) {
  let at = 0n,
    word = 0n;
  for (const [name, bits] of Object.entries(WIDTHS)) {
    word |= BigInt(fields[name] ?? 0) << at;
    at += BigInt(bits);
  }
  return word;
}

/** Returns the text of the shown tile, "" if there is none. */
function tileShown({ phase, shown, low, high }, { hint }) {
  if (shown < PLUS) return shown ? String(shown) : "";
  const candidates = Array.from({ length: Math.max(0, high - low + 1) }, (_, k) => valueOf(low + k)).join("|");
  if (phase === ENTER) return shown === WHITE ? `3|${candidates}` : candidates;
  if (shown === WHITE) return "white";
  return hint === "plus" ? "+" : candidates;
}

export function write(row, options) {
  const fields = unpacked(row),
    { phase, deck, lanes, direction, start, slot, used } = fields,
    cells = ranksOf(row).map(valueOf),
    next = tileShown(fields, options);
  const words = [
    [0, 4, 8, 12].map((k) => cells.slice(k, k + 4).join(" ")).join("/"),
    phase === SETUP && "setup",
    next && `next=${next}`,
    `deck=${[0, 3, 6].map((at) => (deck >> at) & 7)}`,
    phase === ENTER && `move=${ACTIONS[direction]}`,
    phase === ENTER && `lanes=${[0, 1, 2, 3].filter((k) => (lanes >> k) & 1).join("")}`,
    start && `start=${3 * start}`,
    slot && `slot=${slot}${used ? ",used" : ""}`,
  ];
  return words.filter(Boolean).join(" ");
}

/** Returns the outcome of chance: `3@2,1` for a tile that entered at row 2, column 1 (from 0), or the drawn tile. */
export function outcome(before, after, options) {
  if (unpacked(before).phase === DRAW) return tileShown(unpacked(after), options);
  const old = ranksOf(before),
    ranks = ranksOf(after),
    cell = ranks.findIndex((rank, k) => rank !== old[k]);
  return `${valueOf(ranks[cell])}@${Math.floor(cell / 4)},${cell % 4}`;
}

/** Returns the score of the board, including that of the start. */
export const points = (row, returns) => returns + 3 * unpacked(row).start;

/** Returns the fields of a shown tile; the caller checks that the variant shows it so. */
function readNext(text, highest) {
  if (/^[123]$/.test(text)) return { shown: Number(text), low: 0, high: 0 };
  const last = highest - 3;
  if (text === "+" || text === "white") return { shown: text === "+" ? PLUS : WHITE, low: 4, high: last };
  const values = text.split("|"),
    white = values.length > 1 && values[0] === "3",
    ranks = values.slice(white ? 1 : 0).map((value) => RANKS.get(value)),
    [low] = ranks,
    high = ranks.at(-1);
  if (!(low >= 4 && high <= 12) || ranks.some((rank, k) => rank !== low + k))
    throw new Error(`expected next=1, 2, 3, + or white, or bonus tiles in a row joined by '|', got '${text}'`);
  return { shown: white ? WHITE : PLUS, low, high };
}

/** Returns the possible rows of a text; the rules decide which is a position. */
export function read(text, options) {
  const [board, ...words] = text.trim().split(/\s+(?=[a-z])/),
    lines = board.split("/").map((line) => line.trim().split(/\s+/)),
    ranks = lines.flat().map((tile) => RANKS.get(tile));
  if (lines.length !== 4 || lines.some((line) => line.length !== 4) || ranks.includes(undefined))
    throw new Error(`expected 4 rows of 4 tiles 0, 1, 2, 3, 6, ..., 12288 separated by '/', got '${board.slice(0, 80)}'`);
  const setup = words.filter((word) => word === "setup").length === 1,
    named = words.filter((word) => word !== "setup").map((word) => /^([a-z]+)=(\S+)$/.exec(word));
  const given = Object.fromEntries(named.map((one) => [one?.[1], one?.[2]]));
  if (named.some((one) => !FIELDS.includes(one?.[1])) || Object.keys(given).length + Number(setup) !== words.length)
    throw new Error(`expected fields among ${FIELDS.join(", ")}, each once, got '${words.join(" ").slice(0, 80)}'`);
  const parts = (name, pattern, otherwise) => {
    const match = pattern.exec(given[name] ?? otherwise);
    if (!match) throw new Error(`expected another ${name}=, got '${given[name]}'`);
    return match.slice(1);
  };
  const counts = parts("deck", /^([0-4]),([0-4]),([0-4])$/, "4,4,4").map(Number),
    [start] = parts("start", /^(3|6|9|12|)$/, ""),
    [slot, used] = parts("slot", /^([1-9]|1\d|20|)(,used|)$/, ""),
    entering = "move" in given || "lanes" in given,
    lanes = entering ? [...parts("lanes", /^([0-3]{1,4})$/, "none")[0]].map(Number) : [],
    direction = entering ? ACTIONS.indexOf(given.move) : 0;
  if (direction < 0 || new Set(lanes).size !== lanes.length)
    throw new Error(`expected move=${ACTIONS.join("|")} and lanes=, each once, got '${text.slice(0, 120)}'`);
  const tile = given.next ? readNext(given.next, Math.max(...ranks)) : { shown: 0, low: 0, high: 0 };
  const fields = {
    ...tile,
    phase: setup ? SETUP : entering ? ENTER : given.next ? DECISION : DRAW,
    deck: counts.reduce((sum, count, k) => sum | (count << (3 * k)), 0),
    lanes: lanes.reduce((sum, k) => sum | (1 << k), 0),
    direction,
    start: Number(start) / 3,
    slot: Number(slot),
    used: used ? 1 : 0,
  };
  if (tileShown(fields, options) !== (given.next ?? "")) throw new Error(`expected a next tile as the variant shows it, got '${given.next}'`);
  return [[ranks.reduce((sum, rank, cell) => sum | (BigInt(rank) << BigInt(4 * cell)), 0n), packed(fields)]];
}

/** Returns the deck after the nine tiles of a start, with the shown tile; "" for another board. */
function firstDeck(text) {
  const tiles = text
    .split("=")[0]
    .split(/[\s/]+/)
    .filter((word) => /^\d+$/.test(word) && word !== "0");
  const counts = ["1", "2", "3"].map((card) => 4 - tiles.filter((tile) => tile === card).length);
  return tiles.length === 9 && counts.reduce((a, b) => a + b) === 3 && Math.min(...counts) >= 0 ? counts.join(",") : "";
}

const deckOf = (row) => [0, 3, 6].map((at) => (unpacked(row).deck >> at) & 7).join(",");

/** Follows a game that is played elsewhere, as leafwise.envs.threes.companion does. */
export const companion = {
  begins: {
    asks: "the board, four rows of tiles, 0 is empty; unless the game is new, with the 1s, 2s and 3s not yet drawn",
    form: "1 2 0 3/3 3 0 1/0 0 0 0/0 0 6 0 deck=2,1,3",
  },
  form: "left 3,1 2",

  asks: (stage) => ({ enter: "where the tile entered", draw: "the next tile" })[stage] ?? "what appeared",

  ending: (row) => `game over, highest tile ${valueOf(Math.max(...ranksOf(row)))}`,

  /** Returns the text of a typed board, the tile to draw next, if any, and a note on the position. */
  begin(text) {
    const left = text.includes("deck=") ? "" : firstDeck(text),
      [board, tile = ""] = text.split("next=");
    if (left) return { text: `${board} deck=${left}`, draws: tile.trim(), note: (row) => `a new game: 1s, 2s and 3s left in the deck are ${deckOf(row)}` };
    const note = (row) => (text.includes("deck=") ? "" : `1s, 2s and 3s not yet drawn are taken to be ${deckOf(row)}; deck= tells others`);
    return { text, draws: "", note };
  },
};
