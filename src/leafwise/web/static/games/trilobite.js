// Trilobite (Connect Four): an upright board of columns. Click a column, or use the keys 1 to 9, or the arrow keys and Enter.
// Text: rows from the top, `x` the first player's chips, `o` the other's.

import { h, svg } from "../dom.js";
import { paletteEditor } from "../editor.js";
import { brief, tint } from "../tint.js";

export const players = ["Red", "Yellow"];
const CELL = 60,
  TOP = 34;
const COLOURS = { x: "#d8433b", o: "#f2c230", ".": "#f6f7f4" };

const rowsOf = (text) => text.split("/");

/** Returns the cells of the first line of k equal chips, [[row, column], ...], or null. */
export function winningLine(rows, k) {
  for (const [dy, dx] of [
    [0, 1],
    [1, 0],
    [1, 1],
    [1, -1],
  ]) {
    for (let y = 0; y < rows.length; y++) {
      for (let x = 0; x < rows[0].length; x++) {
        const cells = Array.from({ length: k }, (_, j) => [y + j * dy, x + j * dx]);
        if (rows[y][x] !== "." && cells.every(([r, c]) => rows[r]?.[c] === rows[y][x])) return cells;
      }
    }
  }
  return null;
}

/** Returns how a game was won, to follow the winner's name. */
export const how = (state, about) =>
  winningLine(rowsOf(state.text), about.option_values.k) ? ` with ${about.option_values.k} in a row` : ": the board is full";

export function makeBoard(host, about, act) {
  let state = null,
    marks = null,
    at = -1; // the cursor appears at the first arrow key
  host.tabIndex = 0;
  host.addEventListener("keydown", (event) => {
    if (!state || !marks.live) return;
    const width = rowsOf(state.text)[0].length;
    if (state.actions.includes(event.key)) act(event.key);
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      at = event.key === "ArrowLeft" ? (Math.max(at, 0) + width - 1) % width : (at + 1) % width;
      draw();
    } else if ((event.key === "Enter" || event.key === " ") && state.actions.includes(String(at + 1))) act(String(at + 1));
    else return;
    event.preventDefault();
  });

  function column(x, rows) {
    const name = String(x + 1),
      height = rows.length,
      legal = state.actions.includes(name);
    const share = marks.shares?.[name];
    const group = svg(
      "g",
      {
        class: legal && marks.live ? "choice" : null,
        "data-action": legal ? name : null,
        role: legal ? "button" : null,
        "aria-label": legal ? `column ${name}${marks.worths ? `, ${marks.worths[name]}` : ""}` : null,
        onclick: () => legal && marks.live && act(name),
      },
      svg("rect", { x: x * CELL, y: 0, width: CELL, height: TOP + height * CELL, fill: "#2e5aa8", class: x === at ? "at" : null }),
      svg("rect", { x: x * CELL, y: 0, width: CELL, height: TOP, fill: tint(share) || "#e8ece4" }),
    );
    const free = rows.filter((row) => row[x] === ".").length;
    rows.forEach((row, y) =>
      group.append(
        svg("circle", {
          cx: (x + 0.5) * CELL,
          cy: TOP + (y + 0.5) * CELL,
          r: CELL * 0.4,
          fill: COLOURS[row[x]],
          class: legal && y === free - 1 ? "next" : null,
          "aria-label": `row ${height - y} ${{ x: "red", o: "yellow", ".": "empty" }[row[x]]}`,
        }),
      ),
    );
    if (marks.last?.some((step) => step.name === name) && rows[free])
      group.append(svg("circle", { cx: (x + 0.5) * CELL, cy: TOP + (free + 0.5) * CELL, r: 7, fill: "#1d2a22" }));
    group.append(
      svg(
        "text",
        {
          x: (x + 0.5) * CELL,
          y: 22,
          class: marks.best === name ? "worth best" : "worth",
          style: brief(marks.worths?.[name]).length > 6 ? "font-size:10px" : null,
        },
        marks.worths ? brief(marks.worths[name]) : name,
      ),
    );
    return group;
  }

  /** Returns the numbers of the principal variation in the cells of its chips. */
  function line(rows) {
    const heights = [...rows[0]].map((_, x) => rows.filter((row) => row[x] !== ".").length);
    const group = svg("g", { class: "line" });
    (marks.line || []).slice(0, 6).forEach((name, k) => {
      const x = Number(name) - 1,
        y = rows.length - 1 - heights[x]++;
      if (y >= 0) group.append(svg("text", { x: (x + 0.5) * CELL, y: TOP + (y + 0.62) * CELL, class: "step" }, String(k + 1)));
    });
    return group;
  }

  function won(rows) {
    const cells = state.over && winningLine(rows, about.option_values.k);
    if (!cells) return null;
    const [[y1, x1], [y2, x2]] = [cells[0], cells.at(-1)],
      at = (n) => (n + 0.5) * CELL;
    return svg("line", { x1: at(x1), y1: TOP + at(y1), x2: at(x2), y2: TOP + at(y2), class: "won" });
  }

  function draw() {
    const rows = rowsOf(state.text),
      width = rows[0].length;
    const picture = svg(
      "svg",
      {
        viewBox: `0 0 ${width * CELL} ${TOP + rows.length * CELL}`,
        class: "board",
        role: "group",
        "aria-label": `${width} columns, ${state.player ? `${players[state.player - 1]} to move` : state.result}`,
      },
      rows[0].split("").map((_, x) => column(x, rows)),
      line(rows),
      won(rows),
    );
    host.replaceChildren(picture);
  }
  return {
    show(newState, newMarks) {
      [state, marks] = [newState, newMarks];
      draw();
    },
  };
}

export function makeEditor(host, about, text, changed) {
  const rows = rowsOf(text),
    width = rows[0].length,
    cells = [...rows.join("")];
  const look = (mark) => ({ text: "", style: `background:${COLOURS[mark]};border-radius:50%;aspect-ratio:1` });
  paletteEditor(host, {
    pieces: [
      ["x", players[0]],
      ["o", players[1]],
      [".", "empty"],
    ],
    look,
    cells,
    columns: width,
    empty: ".",
    changed: () => changed(rows.map((_, k) => cells.slice(k * width, (k + 1) * width).join("")).join("/")),
  });
  host.append(h("p", { class: "quiet" }, "Red begins, so it has as many chips as Yellow, or one more."));
  return {};
}
