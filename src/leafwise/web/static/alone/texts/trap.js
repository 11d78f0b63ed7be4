// Positions of Trap as text, in the form of leafwise.envs.trap.text.

const ENDS = ["", "won=1", "won=2", "draw"],
  MARKS = ".#12";
const [MOVE, THROW, LANDING] = [0n, 1n, 2n];
const PLAYER = 17n,
  CELL = 7n,
  PHASE = 31n,
  TARGET = 33n,
  TURN = 40n,
  END = 56n;
/** @type {(word: bigint, at: bigint, bits: bigint) => bigint} */
const field = (word, at, bits) => (word >> at) & ((1n << bits) - 1n);

function cells([low, word], size) {
  const traps = low | (field(word, 0n, PLAYER) << 64n),
    /** @type {string[]} */ marks = Array.from({ length: size * size }, (_, cell) => (traps & (1n << BigInt(cell)) ? "#" : "."));
  [PLAYER, PLAYER + CELL].forEach((at, player) => (marks[Number(field(word, at, CELL))] = String(1 + player)));
  return marks;
}

const nameOf = (cell, size) => `${Math.floor(cell / size)},${cell % size}`;

export function write(row, { size }) {
  const [, word] = row,
    marks = cells(row, size).join(""),
    phase = field(word, PHASE, 2n);
  const lines = Array.from({ length: size }, (_, k) => marks.slice(k * size, (k + 1) * size)).join("/"),
    target = Number(field(word, TARGET, CELL));
  const words = [
    lines,
    `turn=${field(word, TURN, 16n)}`,
    phase === THROW && "throw",
    phase === LANDING && `throw=${nameOf(target, size)}`,
    ENDS[Number(word >> END)],
  ];
  return words.filter(Boolean).join(" ");
}

/** Returns the cell where the trap landed, or `unchanged` if there was a trap. */
export function outcome(before, after, { size }) {
  const old = cells(before, size),
    landed = cells(after, size).findIndex((mark, cell) => mark !== old[cell]);
  return landed < 0 ? "unchanged" : nameOf(landed, size);
}

/** Returns the possible rows of a text, likeliest first; the rules decide which is a position. */
export function read(text, { size }) {
  const [board, ...words] = text.trim().split(/\s+/),
    lines = board.split("/"),
    marks = lines.join("");
  if (lines.length !== size || lines.some((line) => line.length !== size || /[^.#12]/.test(line)))
    throw new Error(`expected ${size} rows of ${size} cells separated by '/', of "${MARKS}", got '${text.slice(0, 80)}'`);
  const [first, second] = ["1", "2"].map((mark) => marks.indexOf(mark));
  if (first !== marks.lastIndexOf("1") || second !== marks.lastIndexOf("2") || first < 0 || second < 0)
    throw new Error(`expected each of the players 1 and 2 on one cell, got '${board}'`);
  let turn, phase, end;
  let target = 0;
  for (const word of words) {
    const [, number, row, column] = /^(?:turn=(\d{1,6})|throw=(\d{1,6}),(\d{1,6}))$/.exec(word) ?? [];
    const known = ENDS.indexOf(word);
    if (number !== undefined && turn === undefined && Number(number) < 2 ** 16) turn = Number(number);
    else if (row !== undefined && phase === undefined && Number(row) < size && Number(column) < size)
      [phase, target] = [LANDING, Number(row) * size + Number(column)];
    else if (word === "throw" && phase === undefined) phase = THROW;
    else if (known > 0 && end === undefined) end = known;
    else throw new Error(`expected after the board perhaps turn=N, throw or throw=ROW,COLUMN, and won=1, won=2 or draw, each once, got '${word}'`);
  }
  turn ??= 0;
  let traps = 0n;
  [...marks].forEach((mark, cell) => (traps |= mark === "#" ? 1n << BigInt(cell) : 0n));
  const low = traps & ((1n << 64n) - 1n);
  const placed = [
    [traps >> 64n, 0n],
    [BigInt(first), PLAYER],
    [BigInt(second), PLAYER + CELL],
    [phase ?? MOVE, PHASE],
    [BigInt(target), TARGET],
    [BigInt(turn), TURN],
  ];
  const word = /** @type {[bigint, bigint][]} */ (placed).reduce((sum, [value, at]) => sum | (value << at), 0n);
  // If both are stuck, the player to move has lost, unless the text says that the other one trapped himself
  const ends = end === undefined ? [2 - (turn % 2), 0, 1, 2, 3] : [end];
  return ends.map((one) => [low, word | (BigInt(one) << END)]);
}
