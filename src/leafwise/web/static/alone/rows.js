// Positions of a game without texts in JavaScript: the numbers of the row, and the drawings that leafwise.web.drawings learned.

export const write = (row) => row.join(" ");

/** Returns the possible rows of a text; the rules decide which is a position. */
export function read(text, options, rules) {
  const words = text.trim().split(/ +/);
  if (words.length !== rules.width || words.some((word) => !/^-?\d{1,20}$/.test(word)))
    throw new Error(`expected ${rules.width} whole numbers separated by spaces, got '${text.slice(0, 80)}'`);
  return [words.map(BigInt)];
}

const valuesOf = ({ cells, width }, row) =>
  cells.map((cell) => cell.reduce((sum, [word, bit], k) => sum + (Number((BigInt.asUintN(width, row[word]) >> BigInt(bit)) & 1n) << k), 0));

/** Returns the text of a position as a sum of cells, null if they do not determine it. */
function summed(sum, row) {
  if (!sum || row.some((word, k) => (BigInt.asUintN(sum.width, word) ^ BigInt(sum.base[k])) & BigInt(sum.fixed[k]))) return null;
  const values = valuesOf(sum, row),
    texts = sum.parts.map((part) => (typeof part === "string" ? part : part[1][values[part[0]]]));
  return texts.includes(null) ? null : texts.join("");
}

export const svg = (row, drawing) => summed(drawing.svg, row);
export const board = (row, drawing) => summed(drawing.board, row) ?? row.map((word, k) => `${String(k).padStart(3)}: ${word}`).join("\n");

/** Returns the name of outcome k of n, the row `after`, or undefined if none was learned. */
export function outcome(before, after, drawing, stage, k, n) {
  if (!drawing.names || !drawing.svg) return drawing.names?.[`${stage}/${n}/${k}`];
  const [old, now] = [before, after].map((row) => valuesOf(drawing.svg, row)),
    changes = now.flatMap((value, cell) => (value === old[cell] ? [] : [`${cell}=${value}`]));
  return drawing.names[`${stage}/${n}/${k}`] ?? drawing.names[changes.join(",")];
}
