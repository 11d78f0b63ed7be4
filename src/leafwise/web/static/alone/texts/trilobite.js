// Positions of Trilobite as text, in the form of leafwise.envs.trilobite.text.

const sizes = ({ board }) => board.split("x").map(Number);
const bit = (x, y, height) => BigInt(x * (height + 1) + y);

export function write([first, second], options) {
  const [width, height] = sizes(options);
  const mark = (at) => (first & (1n << at) ? "x" : second & (1n << at) ? "o" : ".");
  return Array.from({ length: height }, (_, up) => Array.from({ length: width }, (_, x) => mark(bit(x, height - 1 - up, height))).join("")).join("/");
}

/** Returns the possible rows of a text; the rules decide which is a position. */
export function read(text, options) {
  const [width, height] = sizes(options),
    lines = text.trim().split("/"),
    row = [0n, 0n];
  if (lines.length !== height || lines.some((line) => line.length !== width || /[^.xo]/.test(line)))
    throw new Error(`expected ${height} rows of ${width} cells separated by '/', of ".xo", got '${text.slice(0, 80)}'`);
  lines.forEach((line, up) =>
    [...line].forEach((mark, x) => {
      if (mark !== ".") row["xo".indexOf(mark)] |= 1n << bit(x, height - 1 - up, height);
    }),
  );
  return [row];
}
