// Threes: sixteen cells, moved by swipes, arrow keys or the arrows at the sides.
// Text: four rows of tiles, `next=` the shown tile, `deck=` the 1s, 2s and 3s left in the deck.

import { h, svg } from "../dom.js";
import { paletteEditor } from "../editor.js";
import { ARROWS, onSwipe } from "../swipe.js";
import { brief, tint } from "../tint.js";

const CELL = 84,
  GAP = 10,
  SIDE = 70;
const COLOURS = { 1: ["#5ec4f5", "#fff"], 2: ["#f36d86", "#fff"] };
const SIDES = { up: [0, -1, "▲"], down: [0, 1, "▼"], left: [-1, 0, "◀"], right: [1, 0, "▶"] };
const TILES = [0, 1, 2, 3, 6, 12, 24, 48, 96, 192, 384, 768, 1536, 3072, 6144];

/** Returns the cells, the next tile and the deck of a text, and its other words. */
export function read(text) {
  const [words, ...fields] = [text.split(/\s+(?=[a-z]+)/)[0], ...text.split(/\s+/).filter((word) => /^[a-z]/.test(word))];
  const named = Object.fromEntries(fields.map((word) => word.split("=")));
  return { cells: words.trim().split(/[\s/]+/), next: named.next || "", deck: named.deck || "4,4,4", named };
}

/** Returns the colours of a tile: [background, ink]. */
export const paint = (tile) => COLOURS[tile] || (tile === "0" ? ["#c9d9d6", "#c9d9d6"] : ["#fff", "#26322b"]);

function tileAt(x, y, size, tile, fresh) {
  const [back, ink] = paint(tile);
  return svg(
    "g",
    { class: fresh ? "fresh" : null, "aria-label": tile === "0" ? "empty" : tile },
    svg("rect", { x, y, width: size * 0.86, height: size, rx: 9, fill: back, stroke: tile === "0" ? "none" : "#b9c4be", class: fresh ? "ring" : null }),
    tile === "0" ? "" : svg("text", { x: x + size * 0.43, y: y + size * 0.62, fill: ink, style: `font-size:${tile.length > 3 ? 22 : 28}px;fill:${ink}` }, tile),
  );
}

export function outcomeTitle(name) {
  const [tile, place] = name.split("@");
  if (!place) return `next ${name}`;
  const [row, column] = place.split(",").map(Number);
  return `${tile} at row ${row + 1}, column ${column + 1}`;
}

export function makeBoard(host, about, act) {
  let state = null,
    marks = null;
  host.tabIndex = 0;
  const choose = (name) => {
    if (marks?.live && state.actions.includes(name)) act(name);
  };
  onSwipe(host, choose);
  host.addEventListener("keydown", (event) => {
    const name = ARROWS[event.key];
    if (!name || !marks?.live) return;
    event.preventDefault();
    choose(name);
  });
  const width = 4 * CELL * 0.92 + GAP,
    height = 4 * (CELL + GAP);

  function arrow(name) {
    const [dx, dy, sign] = SIDES[name],
      legal = state.actions.includes(name);
    const x = SIDE + (dx ? (dx > 0 ? width : -SIDE) : 0),
      y = SIDE + (dy ? (dy > 0 ? height : -SIDE) : 0);
    const w = dx ? SIDE : width,
      t = dy ? SIDE : height;
    const worth = marks.worths?.[name],
      tall = Boolean(dx);
    return svg(
      "g",
      {
        class: legal && marks.live ? "choice" : null,
        role: legal ? "button" : null,
        "data-action": legal ? name : null,
        "aria-label": legal ? `${name}${worth ? `, ${worth}` : ""}` : null,
        onclick: () => choose(name),
        opacity: legal ? 1 : 0.25,
      },
      svg("rect", {
        x: x + 3,
        y: y + 3,
        width: w - 6,
        height: t - 6,
        rx: 8,
        class: "hover",
        fill: tint(marks.shares?.[name]) || "#e6eeea",
        stroke: marks.best === name ? "#0a5c2f" : "none",
        "stroke-width": 3,
      }),
      svg("text", { x: x + w / 2, y: y + t / 2 + (tall ? -8 : 5), style: "font-size:15px" }, sign + (tall ? "" : `  ${worth || ""}`)),
      tall &&
        worth &&
        svg(
          "text",
          {
            x: x + w / 2,
            y: y + t / 2 + 14,
            class: marks.best === name ? "worth best" : "worth",
            style: worth.length > 7 ? "font-size:11px" : "font-size:13px",
          },
          brief(worth),
        ),
    );
  }

  /** Returns an arrow over the board in the direction of the best swipe. */
  function swipe(name) {
    const [dx, dy] = SIDES[name],
      long = dx ? width : height;
    const [tip, head, half] = [0.36 * long, 0.16 * long, 22];
    return svg("path", {
      class: "swipe",
      d: `M${-tip} ${-half}H${head}V${-2 * half}L${tip} 0L${head} ${2 * half}V${half}H${-tip}z`,
      transform: `translate(${SIDE + width / 2} ${SIDE + height / 2}) rotate(${(180 * Math.atan2(dy, dx)) / Math.PI})`,
    });
  }

  function draw() {
    const { cells, next, deck } = read(state.text);
    const entered = (marks.last || [])
      .map((step) => /@(\d),(\d)$/.exec(step.name))
      .filter(Boolean)
      .map(([, r, c]) => 4 * r + Number(c));
    const board = cells.map((tile, k) =>
      tileAt(SIDE + GAP + (k % 4) * (CELL * 0.92), SIDE + GAP / 2 + Math.floor(k / 4) * (CELL + GAP), CELL, tile, entered.includes(k)),
    );
    const bonus = next.length > 1 || next === "+";
    host.replaceChildren(
      h(
        "div",
        { class: "next" },
        "Next ",
        h(
          "strong",
          { class: "tile", "data-next": next, style: `background:${paint(bonus ? "3" : next || "0")[0]};color:${paint(bonus ? "3" : next || "3")[1]}` },
          next || "?",
        ),
        h(
          "span",
          { class: "quiet" },
          bonus ? " a bonus tile; " : "",
          " left in the deck: ",
          deck
            .split(",")
            .map((n, k) => `${n} × ${k + 1}`)
            .join(", "),
        ),
      ),
      svg(
        "svg",
        { viewBox: `0 0 ${width + 2 * SIDE} ${height + 2 * SIDE}`, class: "board", role: "group", "aria-label": `board: ${cells.join(" ")}` },
        svg("rect", { x: SIDE, y: SIDE - 2, width, height: height + 2, rx: 12, fill: "#b4cbc5" }),
        board,
        Object.keys(SIDES).map(arrow),
        marks.best in SIDES && swipe(marks.best),
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
  const { cells, next, deck, named } = read(text);
  const counts = deck.split(",");
  const tell = () => {
    const rows = [0, 4, 8, 12].map((k) => cells.slice(k, k + 4).join(" ")).join("/");
    const bits = [
      rows,
      shown.value && `next=${shown.value}`,
      `deck=${decks.map((field) => field.value).join(",")}`,
      named.start && `start=${named.start}`,
      named.slot && `slot=${named.slot}`,
    ];
    changed(bits.filter(Boolean).join(" "));
  };
  paletteEditor(host, {
    pieces: TILES.map((tile) => [String(tile), tile ? String(tile) : "empty"]),
    cells,
    columns: 4,
    empty: "0",
    changed: tell,
    look: (tile) => ({ text: tile === "0" ? "" : tile, style: `background:${paint(tile)[0]};color:${paint(tile)[1]}` }),
  });
  const shown = h("input", { value: next, size: 6, list: "next-tiles", onchange: tell, "aria-label": "next tile" });
  const decks = [0, 1, 2].map((k) =>
    h("input", { type: "number", min: 0, max: 4, value: counts[k], onchange: tell, "aria-label": `${k + 1}s left in the deck` }),
  );
  host.append(
    h(
      "p",
      { class: "fields" },
      h("label", {}, "Next tile ", shown),
      h(
        "datalist",
        { id: "next-tiles" },
        ["1", "2", "3", "+"].map((one) => h("option", { value: one })),
      ),
      " ",
      "Left in the deck: ",
      decks.map((field, k) => [h("label", {}, `${k + 1}s `, field), " "]),
    ),
  );
  return {};
}
