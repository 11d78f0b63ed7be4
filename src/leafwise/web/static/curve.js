// The curve of a game: chance to win (or expected score) before each move, with blunders marked.

import { svg } from "./dom.js";

const H = 240,
  LEFT = 48,
  BOTTOM = 24,
  TOP = 10;

/**
 * Returns the drawing. points: [{x, y, blunder, title}], y from low to high; choose(index) when a point is clicked.
 * ticks: [[y, label]].
 */
export function curve(points, { low, high, ticks, label, at, choose }) {
  const W = innerWidth < 640 ? 380 : 720; // of a phone's window and of a desktop's
  const most = Math.max(1, points.at(-1)?.x ?? 1);
  const x = (value) => LEFT + ((W - LEFT - 8) * value) / most;
  const y = (value) => TOP + (H - TOP - BOTTOM) * (1 - (value - low) / (high - low || 1));
  const path = points.map((one, k) => `${k ? "L" : "M"}${x(one.x).toFixed(1)} ${y(one.y).toFixed(1)}`).join("");
  const step = Math.ceil(most / 10);
  return svg(
    "svg",
    {
      viewBox: `0 0 ${W} ${H}`,
      class: "curve",
      role: "img",
      "aria-label": label,
      onclick: (event) => {
        const box = event.currentTarget.getBoundingClientRect(),
          value = ((event.clientX - box.left) / box.width) * W;
        const nearest = points.reduce((best, one, k) => (Math.abs(x(one.x) - value) < Math.abs(x(points[best].x) - value) ? k : best), 0);
        if (points.length) choose(nearest);
      },
    },
    ticks
      .map(([value, text]) => [
        svg("line", { x1: LEFT, x2: W - 8, y1: y(value), y2: y(value), class: "chart-grid" }),
        svg("text", { x: LEFT - 6, y: y(value) + 4, class: "tick" }, text),
      ])
      .flat(),
    Array.from({ length: Math.floor(most / step) + 1 }, (_, k) => svg("text", { x: x(k * step), y: H - 6, class: "move" }, String(k * step))),
    at !== null && points[at] && svg("line", { x1: x(points[at].x), x2: x(points[at].x), y1: TOP, y2: H - BOTTOM, stroke: "#e0b000", "stroke-width": 2 }),
    svg("path", { d: path, fill: "none", class: "chart-line chart-colour-1", "stroke-width": 2.5, "stroke-linejoin": "round" }),
    points
      .filter((one) => one.blunder)
      .map((one) => svg("g", { class: "blunder" }, svg("circle", { cx: x(one.x), cy: y(one.y), r: 6, fill: "#b3261e" }), svg("title", {}, one.title))),
  );
}
