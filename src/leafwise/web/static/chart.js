// A line chart as an SVG element: ticks, bands for intervals, and values under the pointer.

import { svg } from "./dom.js";

const HEIGHT = 240,
  WIDE = 640,
  NARROW = 380; // for windows of desktops and of phones
const MARGIN = { left: 56, right: 12, top: 24, bottom: 42 };
const TICKS = 5;

/** Returns about TICKS round numbers in an interval. */
export function ticks(low, high) {
  if (!(high > low)) return [low];
  const rough = (high - low) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((k) => k * power >= rough);
  const numbers = [];
  for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9; k++) numbers.push(Number((k * step).toPrecision(12)));
  return numbers;
}

/** Formats a number for an axis: 12k, 3.4M, 0.25. */
export function brief(number) {
  const size = Math.abs(number);
  if (size >= 1e9) return `${Number((number / 1e9).toPrecision(4))}G`;
  if (size >= 1e6) return `${Number((number / 1e6).toPrecision(4))}M`;
  if (size >= 1e4) return `${Number((number / 1e3).toPrecision(4))}k`;
  return String(Number(number.toPrecision(4)));
}

/** Returns a chart of [{name, points: [[x, y], ...], colour: 1..3, band: [[x, low, high], ...]}, ...]; `label` is for screen readers, `units` for the axes. */
export function chart(series, label, units = {}) {
  const shown = series.filter((one) => one.points.length);
  const WIDTH = innerWidth < WIDE ? NARROW : WIDE;
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": spoken(label, shown), class: "chart" });
  if (!shown.length) return picture;
  const xs = shown.flatMap((one) => one.points.map((point) => point[0]));
  const ys = shown.flatMap((one) => [...one.points.map((point) => point[1]), ...(one.band ?? []).flatMap((b) => [b[1], b[2]])]);
  let [left, right, bottom, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  if (left === right) [left, right] = [left - 1, right + 1];
  if (bottom === top) [bottom, top] = [bottom - (Math.abs(bottom) || 1) * 0.05, top + (Math.abs(top) || 1) * 0.05];
  const across = (x) => MARGIN.left + ((x - left) / (right - left)) * (WIDTH - MARGIN.left - MARGIN.right);
  const up = (y) => HEIGHT - MARGIN.bottom - ((y - bottom) / (top - bottom)) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  for (const y of ticks(bottom, top)) {
    picture.append(svg("line", { x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: up(y), y2: up(y), class: "chart-grid" }));
    picture.append(svg("text", { x: MARGIN.left - 6, y: up(y) + 4, class: "chart-number", "text-anchor": "end" }, brief(y)));
  }
  for (const x of xs.every((one) => one === xs[0]) ? [xs[0]] : ticks(left, right)) {
    picture.append(svg("text", { x: across(x), y: HEIGHT - 26, class: "chart-number", "text-anchor": "middle" }, brief(x)));
  }
  picture.append(svg("text", { x: WIDTH - MARGIN.right, y: HEIGHT - 8, class: "chart-unit", "text-anchor": "end" }, units.x ?? ""));
  picture.append(svg("text", { x: 6, y: 14, class: "chart-unit" }, units.y ?? ""));
  for (const one of shown) {
    if (one.band?.length) {
      const forth = one.band.map(([x, low]) => `${across(x)},${up(low)}`);
      const back = [...one.band].reverse().map(([x, , high]) => `${across(x)},${up(high)}`);
      picture.append(svg("polygon", { points: [...forth, ...back].join(" "), class: `chart-band chart-colour-${one.colour}` }));
    }
    const path = one.points.map(([x, y], k) => `${k ? "L" : "M"}${across(x).toFixed(1)} ${up(y).toFixed(1)}`).join("");
    picture.append(svg("path", { d: path, class: `chart-line chart-colour-${one.colour}` }));
    if (one.points.length < 30) {
      for (const [x, y] of one.points) {
        picture.append(svg("circle", { cx: across(x), cy: up(y), r: 2.5, class: `chart-dot chart-colour-${one.colour}` }));
      }
      for (const [x, low, high] of one.band ?? []) {
        picture.append(svg("line", { x1: across(x), x2: across(x), y1: up(low), y2: up(high), class: `chart-line chart-colour-${one.colour}` }));
      }
    }
  }
  picture.append(pointed(picture, shown, across, up, WIDTH));
  return picture;
}

/** Returns the text for screen readers: the newest value of each line. */
function spoken(label, shown) {
  const newest = shown.map((one) => `${one.name} ${brief(one.points.at(-1)[1])} at ${brief(one.points.at(-1)[0])}`);
  return `${label}: ${newest.join(", ") || "nothing yet"}`;
}

/** Returns a group that shows the points nearest to the pointer. */
function pointed(picture, shown, across, up, WIDTH) {
  const group = svg("g", { class: "chart-pointed" });
  picture.addEventListener("pointerleave", () => group.replaceChildren());
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * WIDTH;
    group.replaceChildren();
    shown.forEach((one, k) => {
      const near = one.points.reduce((best, point) => (Math.abs(across(point[0]) - at) < Math.abs(across(best[0]) - at) ? point : best));
      group.append(svg("circle", { cx: across(near[0]), cy: up(near[1]), r: 4, class: `chart-dot chart-colour-${one.colour}` }));
      const end = across(near[0]) > WIDTH / 2;
      group.append(
        svg(
          "text",
          { x: across(near[0]) + (end ? -8 : 8), y: MARGIN.top + 14 + 16 * k, class: "chart-told", "text-anchor": end ? "end" : "start" },
          `${one.name} ${brief(near[1])} at ${brief(near[0])}`,
        ),
      );
    });
  });
  return group;
}
