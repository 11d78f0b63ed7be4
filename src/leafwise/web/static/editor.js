// A board to set up by hand: a palette of pieces, and cells that take the chosen one.

import { h } from "./dom.js";

/**
 * Adds a palette and a grid of cells to `host`.
 *   pieces   [[value, title]]: possible values of a cell
 *   look(value) -> {text, style}: their drawing
 *   cells    values, row by row; the array is changed in place
 *   columns  cells in a row
 *   changed  called after every change
 *   first    number of the first row and column
 *   one      values that are on the board at most once
 */
export function paletteEditor(host, { pieces, look, cells, columns, changed, one = [], empty, first = 1 }) {
  let chosen = pieces[0][0];
  const palette = h("div", { class: "buttons", role: "radiogroup", "aria-label": "Piece to put" });
  const grid = h("div", { class: "editor", style: `grid-template-columns: repeat(${columns}, 1fr)`, role: "group", "aria-label": "Cells" });

  function face(value) {
    const { text, style } = look(value);
    return { text, style };
  }
  function drawPalette() {
    palette.replaceChildren(
      ...pieces.map(([value, title]) => {
        const { text, style } = face(value);
        return h(
          "button",
          {
            type: "button",
            role: "radio",
            "aria-checked": String(value === chosen),
            "aria-label": title,
            style,
            "data-piece": value,
            class: value === chosen ? "piece chosen" : "piece",
            onclick: () => {
              chosen = value;
              drawPalette();
            },
          },
          text || " ",
        );
      }),
    );
  }
  function put(k) {
    const value = cells[k] === chosen ? empty : chosen;
    if (one.includes(value))
      cells.forEach((other, j) => {
        if (other === value) cells[j] = empty;
      });
    if (one.includes(cells[k]) && value === empty) return;
    cells[k] = value;
    drawGrid();
    changed();
  }
  function drawGrid() {
    grid.replaceChildren(
      ...cells.map((value, k) => {
        const { text, style } = face(value),
          row = Math.floor(k / columns) + first,
          column = (k % columns) + first;
        const title = pieces.find(([piece]) => piece === value)?.[1] ?? value;
        return h(
          "button",
          { type: "button", style, class: "cell", "aria-label": `row ${row}, column ${column}: ${title}`, "data-cell": k, onclick: () => put(k) },
          text,
        );
      }),
    );
  }
  drawPalette();
  drawGrid();
  host.append(palette, grid);
}
