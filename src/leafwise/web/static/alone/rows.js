// Positions of a game without texts in JavaScript: the numbers of its row, and a table of them.

export const write = (row) => row.join(" ");

/** Returns the rows that a text may mean; which of them is a position say the rules. */
export function read(text, options, rules) {
  const words = text.trim().split(/ +/);
  if (words.length !== rules.width || words.some((word) => !/^-?\d{1,20}$/.test(word)))
    throw new Error(`expected ${rules.width} whole numbers separated by spaces, got '${text.slice(0, 80)}'`);
  return [words.map(BigInt)];
}

export const board = (row) => row.map((word, k) => `${String(k).padStart(3)}: ${word}`).join("\n");
