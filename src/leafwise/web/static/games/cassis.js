// Cassis (Sim): points on a circle, edges to colour; a player who closes a triangle of their own colour loses. Click an edge, or use
// the arrow keys and Enter. Text: for each point its edges to later points, `x` and `o` for the players' colours, `.` free.

import { h, svg } from "../dom.js";
import { tint } from "../tint.js";

export const players = ["Red", "Blue"];
const SIZE = 420,
  RADIUS = 170,
  COLOURS = { x: "#d64541", o: "#2f6fb2" };

/** Returns the edges of a text: [{a, b, name, mark}]. */
export function edgesOf(text) {
  return text.split("/").flatMap((group, a) => [...group].map((mark, k) => ({ a, b: a + 1 + k, name: `${a}-${a + 1 + k}`, mark })));
}

/** Returns the names of the edges of the first triangle of one colour, or []. */
export function triangleOf(text) {
  const marks = new Map(edgesOf(text).map((one) => [one.name, one.mark])),
    n = text.split("/").length + 1;
  for (let a = 0; a < n; a++)
    for (let b = a + 1; b < n; b++)
      for (let c = b + 1; c < n; c++) {
        const names = [`${a}-${b}`, `${a}-${c}`, `${b}-${c}`],
          [mark, ...others] = names.map((name) => marks.get(name));
        if (mark !== "." && others.every((other) => other === mark)) return names;
      }
  return [];
}

export const how = (state) => (triangleOf(state.text).length ? ": the other closed a triangle" : "");

function place(point, n, radius = RADIUS) {
  const angle = (2 * Math.PI * point) / n - Math.PI / 2;
  return [SIZE / 2 + radius * Math.cos(angle), SIZE / 2 + radius * Math.sin(angle)];
}

/** Returns the place of a label on an edge: the first free one, or the one farthest from other labels. */
function freePlace(taken, x1, y1, x2, y2) {
  const gap = (one) => Math.min(1, ...taken.map((other) => Math.max(Math.abs(one.x - other.x) / 50, Math.abs(one.y - other.y) / 20)));
  const places = [0.5, 0.33, 0.67, 0.42, 0.58, 0.25, 0.75, 0.18, 0.82, 0.38, 0.62, 0.29, 0.71, 0.46, 0.54].map((t) => ({
    x: x1 + (x2 - x1) * t,
    y: y1 + (y2 - y1) * t,
  }));
  return places.reduce((best, one) => (gap(one) > gap(best) ? one : best));
}

/** Returns a drawing; look(edge) -> {colour, width, label, dash, click, action, ...} of each edge. */
function picture(text, look, extra = []) {
  const edges = edgesOf(text),
    n = text.split("/").length + 1,
    taken = [];
  const lines = edges.map((one) => {
    const [x1, y1] = place(one.a, n),
      [x2, y2] = place(one.b, n),
      style = look(one);
    const line = (attributes) => svg("line", { x1, y1, x2, y2, "stroke-linecap": "round", ...attributes });
    const { x, y } = freePlace(taken, x1, y1, x2, y2),
      wide = style.label?.length > 5 ? 54 : 42;
    if (style.label) taken.push({ x, y });
    return {
      style,
      shown: svg(
        "g",
        {
          class: style.click ? "choice" : null,
          role: style.click ? "button" : null,
          "data-action": style.action || null,
          onclick: style.click,
          "aria-label": `edge ${one.name}: ${{ x: "red", o: "blue", ".": "free" }[one.mark]}${style.label ? `, ${style.label}` : ""}`,
        },
        line({
          stroke: style.colour,
          "stroke-width": style.width,
          "stroke-dasharray": style.dash || null,
          class: `edge${style.at ? " at" : ""}${style.won ? " closed" : ""}`,
        }),
        style.click && line({ stroke: "transparent", "stroke-width": 20, class: "catch" }),
      ),
      label:
        style.label &&
        svg(
          "g",
          { "pointer-events": "none" },
          svg("rect", {
            x: x - wide / 2,
            y: y - 10,
            width: wide,
            height: 19,
            rx: 5,
            fill: style.tint || "#fff",
            stroke: style.best ? "#0a5c2f" : "#b9c4be",
            "stroke-width": style.best ? 3 : 1,
          }),
          svg("text", { x, y: y + 4, class: style.best ? "worth best" : "worth", style: "font-size:11px" }, style.label),
        ),
    };
  });
  return svg(
    "svg",
    { viewBox: `0 0 ${SIZE} ${SIZE}`, class: "board", role: "group", "aria-label": `${n} points` },
    lines.map((one) => one.shown),
    extra,
    lines.map((one) => one.label).filter(Boolean),
    Array.from({ length: n }, (_, k) => {
      const [x, y] = place(k, n),
        [lx, ly] = place(k, n, RADIUS + 22);
      return [svg("circle", { cx: x, cy: y, r: 9, class: "outside" }), svg("text", { x: lx, y: ly + 5, class: "outside" }, String(k))];
    }).flat(),
  );
}

export function makeBoard(host, about, act) {
  let state = null,
    marks = null,
    at = -1; // the cursor appears at the first arrow key
  host.tabIndex = 0;
  host.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!marks?.live || !state.actions.length) return;
    if (step) {
      at = (Math.max(at, step > 0 ? -1 : 0) + step + state.actions.length) % state.actions.length;
      draw();
    } else if ((event.key === "Enter" || event.key === " ") && at >= 0) act(state.actions[Math.min(at, state.actions.length - 1)]);
    else return;
    event.preventDefault();
  });

  function draw() {
    const numbers = new Map((marks.line || []).slice(0, 6).map((name, k) => [name, k + 1]));
    const last = new Set((marks.last || []).map((step) => step.name));
    const chosen = at >= 0 ? state.actions[Math.min(at, state.actions.length - 1)] : null;
    const closed = new Set(state.over ? triangleOf(state.text) : []);
    host.replaceChildren(
      picture(state.text, (one) => {
        const legal = state.actions.includes(one.name),
          worth = marks.worths?.[one.name];
        const number = numbers.has(one.name) ? `${numbers.get(one.name)}: ` : "";
        return {
          colour: COLOURS[one.mark] || tint(marks.shares?.[one.name]) || "#b7c2ba",
          at: one.name === chosen,
          won: closed.has(one.name),
          width: one.mark === "." ? (marks.shares ? 6 : 4) : last.has(one.name) ? 10 : 7,
          dash: one.mark === "." && !marks.shares ? "2 7" : null,
          action: legal && one.name,
          click: legal && marks.live ? () => act(one.name) : null,
          label: worth ? number + worth.replace(" %", "") : number.slice(0, 1),
          best: marks.best === one.name,
          tint: tint(marks.shares?.[one.name]),
        };
      }),
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
  const groups = text.split("/").map((group) => [...group]);
  const drawing = h("div", { class: "host" });
  const order = { ".": "x", x: "o", o: "." };
  function draw() {
    drawing.replaceChildren(
      picture(groups.map((group) => group.join("")).join("/"), (one) => ({
        colour: COLOURS[one.mark] || "#b7c2ba",
        width: one.mark === "." ? 5 : 8,
        action: one.name,
        click: () => {
          groups[one.a][one.b - one.a - 1] = order[one.mark];
          draw();
          changed(groups.map((group) => group.join("")).join("/"));
        },
      })),
    );
  }
  draw();
  host.append(h("p", { class: "quiet" }, "Click an edge: red, blue, free."), drawing);
  return {};
}
