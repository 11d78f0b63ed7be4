// Trap: a duel on a grid. Click the cell to move to or to throw at, or use the arrow keys and Enter. Rows and columns count from 0.
// Text: rows from the top, `.` free, `#` a trap, 1 and 2 the players; then turn=N, throw, throw=ROW,COLUMN.

import { h, svg } from "../dom.js";
import { paletteEditor } from "../editor.js";
import { gridKeys } from "../swipe.js";
import { brief, tint } from "../tint.js";

export const players = ["Red", "Blue"];
const CELL = 60,
  RULER = 18,
  COLOURS = { 1: "#d64541", 2: "#2f6fb2" };
const STEPS = { N: [-1, 0], NE: [-1, 1], E: [0, 1], SE: [1, 1], S: [1, 0], SW: [1, -1], W: [0, -1], NW: [-1, -1] };

const rowsOf = (text) => text.split(" ")[0].split("/");

export function outcomeTitle(name) {
  if (!name.includes(",")) return "nothing changes (it lands on a trap)";
  const [row, column] = name.split(",").map(Number);
  return `row ${row}, column ${column}`;
}

function placeOf(rows, mark) {
  const row = rows.findIndex((line) => line.includes(mark));
  return [row, rows[row].indexOf(mark)];
}

/** Returns the target cell of an action, [row, column], for the player who acts. */
function cellOf(name, state, rows) {
  if (name.includes(",")) return name.split(",").map(Number);
  const [row, column] = placeOf(rows, String(state.player)),
    [dy, dx] = STEPS[name];
  return [row + dy, column + dx];
}

export function makeBoard(host, about, act) {
  let state = null,
    marks = null,
    actions = new Map();
  const choose = (row, column) => {
    const name = actions.get(`${row},${column}`);
    if (name && marks.live) act(name);
  };
  const at = gridKeys(
    host,
    () => (marks?.live ? { rows: rowsOf(state.text).length, columns: rowsOf(state.text).length } : null),
    choose,
    () => state && draw(),
  );

  const isAt = (row, column) => at.shown && row === at.row && column === at.column;

  function cell(rows, row, column) {
    const mark = rows[row][column],
      name = actions.get(`${row},${column}`),
      x = column * CELL,
      y = row * CELL;
    const worth = name && marks.worths?.[name],
      odds = landing?.[`${row},${column}`];
    const what = { ".": "free", "#": "trap", 1: players[0], 2: players[1] }[mark];
    return svg(
      "g",
      {
        class: name && marks.live ? "choice" : null,
        role: name ? "button" : null,
        "data-action": name || null,
        "aria-label": `row ${row}, column ${column}: ${what}${name ? `, ${name}` : ""}${worth ? `, ${worth}` : ""}`,
        onclick: () => choose(row, column),
      },
      svg("rect", {
        x: x + 1,
        y: y + 1,
        width: CELL - 2,
        height: CELL - 2,
        rx: 5,
        class: [name && marks.live && "hover", isAt(row, column) && "at"].filter(Boolean).join(" "),
        fill: mark === "#" ? "#47544c" : tint(name && marks.shares?.[name]) || (name ? "#e4efe0" : "#f4f5f0"),
        stroke: name && marks.best === name ? "#0a5c2f" : "#c8d0c6",
        "stroke-width": name && marks.best === name ? 4 : 1,
      }),
      mark === "#" && svg("path", { d: `M${x + 16} ${y + 16}l28 28m0-28l-28 28`, stroke: "#dfe5df", "stroke-width": 4 }),
      COLOURS[mark] &&
        svg("circle", {
          cx: x + CELL / 2,
          cy: y + CELL / 2,
          r: 20,
          fill: COLOURS[mark],
          stroke: state.player === Number(mark) ? "#111" : "none",
          "stroke-width": 3,
        }),
      COLOURS[mark] && svg("text", { x: x + CELL / 2, y: y + CELL / 2 + 6, style: "fill:#fff" }, mark),
      odds !== undefined &&
        svg("text", { x: x + CELL / 2, y: y + CELL - 6, class: "worth", style: mark === "#" ? "fill:#fff" : "" }, `${(100 * odds).toFixed(0)} %`),
      worth &&
        svg(
          "text",
          { x: x + CELL / 2, y: y + CELL / 2 + 5, class: marks.best === name ? "worth best" : "worth", style: mark === "#" ? "fill:#fff" : "" },
          brief(worth),
        ),
    );
  }

  let landing = null;

  /** Returns the arrow of a player's step; a reply has the colour of its player. */
  function stepArrow(rows, name, player, isReply = false) {
    const [row, column] = placeOf(rows, String(player)),
      [dy, dx] = STEPS[name];
    const [x1, y1] = [(column + 0.5) * CELL, (row + 0.5) * CELL];
    return svg("line", {
      x1,
      y1,
      x2: x1 + dx * CELL,
      y2: y1 + dy * CELL,
      class: isReply ? "arrow reply" : "arrow",
      style: isReply ? `stroke:${COLOURS[player]}` : null,
      "marker-end": `url(#tip${isReply ? player : ""})`,
    });
  }

  function ringAt(name) {
    const [row, column] = name.split(",").map(Number);
    return svg("circle", { cx: (column + 0.5) * CELL, cy: (row + 0.5) * CELL, r: 24, class: "aim" });
  }

  function draw() {
    const rows = rowsOf(state.text),
      n = rows.length;
    actions = new Map(state.actions.map((name) => [cellOf(name, state, rows).join(","), name]));
    landing = state.player === "chance" ? Object.fromEntries(state.outcomes.map((one) => [one.name, one.probability])) : null;
    const extra = [];
    const aim = /throw=(\d+),(\d+)/.exec(state.text);
    if (aim) extra.push(svg("circle", { cx: (Number(aim[2]) + 0.5) * CELL, cy: (Number(aim[1]) + 0.5) * CELL, r: 25, class: "aim" }));
    for (const step of marks.last || []) {
      if (!/^\d+,\d+$/.test(step.name)) continue;
      const [row, column] = step.name.split(",").map(Number);
      extra.push(
        step.player === "chance"
          ? svg("rect", { x: column * CELL + 3, y: row * CELL + 3, width: CELL - 6, height: CELL - 6, rx: 5, class: "ring landed" })
          : svg("circle", { cx: (column + 0.5) * CELL, cy: (row + 0.5) * CELL, r: 25, class: "aim" }),
      );
    }
    const line = (state.actions.includes(marks.line?.[0]) && marks.line) || [];
    const isStep = line[0] in STEPS,
      aimed = line[isStep ? 1 : 0],
      reply = line.findIndex((name, k) => k > 0 && name in STEPS);
    if (isStep) extra.push(stepArrow(rows, line[0], state.player));
    if (aimed?.includes(",")) extra.push(ringAt(aimed));
    if (reply > 0) extra.push(stepArrow(rows, line[reply], 3 - state.player, true));
    host.replaceChildren(
      svg(
        "svg",
        { viewBox: `${-RULER} ${-RULER} ${n * CELL + RULER} ${n * CELL + RULER}`, class: "board", role: "group", "aria-label": `${n} by ${n} cells` },
        svg(
          "defs",
          {},
          Object.entries({ "": "#111", ...COLOURS }).map(([player, fill]) =>
            svg(
              "marker",
              { id: `tip${player}`, viewBox: "0 0 10 10", refX: 8, refY: 5, markerWidth: 5, markerHeight: 5, orient: "auto" },
              svg("path", { d: "M0 0L10 5L0 10z", fill }),
            ),
          ),
        ),
        rows
          .map((_, k) =>
            [
              [(k + 0.5) * CELL, -5],
              [-RULER / 2, (k + 0.5) * CELL + 4],
            ].map(([x, y]) => svg("text", { x, y, class: "ruler" }, k)),
          )
          .flat(),
        rows.flatMap((line, row) => [...line].map((_, column) => cell(rows, row, column))),
        extra,
      ),
    );
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
    cells = [...rows.join("")],
    n = rows.length;
  let turn = Number((/turn=(\d+)/.exec(text) || [0, 0])[1]),
    throws = / throw( |$)/.test(text);
  const tell = () => {
    const lines = rows.map((_, k) => cells.slice(k * n, (k + 1) * n).join(""));
    changed(`${lines.join("/")} turn=${turn}${throws ? " throw" : ""}`);
  };
  const look = (mark) => ({
    text: { ".": "", "#": "✕" }[mark] ?? mark,
    style: `background:${COLOURS[mark] || { ".": "#f4f5f0", "#": "#47544c" }[mark]};color:${mark === "." ? "#222" : "#fff"}`,
  });
  paletteEditor(host, {
    pieces: [
      ["#", "trap"],
      [".", "free"],
      ["1", players[0]],
      ["2", players[1]],
    ],
    cells,
    columns: n,
    look,
    changed: tell,
    one: ["1", "2"],
    empty: ".",
    first: 0,
  });
  host.append(
    h(
      "p",
      { class: "fields" },
      h(
        "label",
        {},
        "Turns played ",
        h("input", {
          type: "number",
          min: 0,
          value: turn,
          onchange: (event) => {
            turn = Number(event.target.value);
            tell();
          },
        }),
      ),
      h("span", { class: "quiet" }, " even: Red acts, odd: Blue"),
      " ",
      h(
        "label",
        {},
        h("input", {
          type: "checkbox",
          checked: throws,
          onchange: (event) => {
            throws = event.target.checked;
            tell();
          },
        }),
        "has moved, throws now",
      ),
    ),
  );
  return {};
}
