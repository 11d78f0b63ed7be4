// Positions of Cassis as text, in the form of leafwise.envs.cassis.text.

const LOST = 1n << 63n;

export function write([first, second], { n }) {
  let edge = 0n;
  const mark = () => {
    const bit = 1n << edge++;
    return first & bit ? "x" : second & bit ? "o" : ".";
  };
  return Array.from({ length: n - 1 }, (_, point) => Array.from({ length: n - 1 - point }, mark).join("")).join("/");
}

/** Returns the possible rows of a text; the rules decide which is a position. */
export function read(text, { n }) {
  const groups = text.trim().split("/"),
    lengths = Array.from({ length: n - 1 }, (_, point) => n - 1 - point);
  if (groups.length !== n - 1 || groups.some((group, k) => group.length !== lengths[k] || /[^.xo]/.test(group)))
    throw new Error(`expected groups of ${lengths.join(", ")} edges separated by '/', of ".xo", got '${text.slice(0, 80)}'`);
  const row = [0n, 0n];
  [...groups.join("")].forEach((mark, edge) => {
    if (mark !== ".") row["xo".indexOf(mark)] |= 1n << BigInt(edge);
  });
  const [first, second] = row;
  return [row, [first | LOST, second], [first, second | LOST]]; // a player may have lost
}
