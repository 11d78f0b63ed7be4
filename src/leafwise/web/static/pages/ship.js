// Starship: build a ship by hand, request by request. The address holds preset, seed and places: #/ship?preset=..&seed=..&m=...

import { keepAddress } from "../address.js";
import { ask } from "../api.js";
import { h, select, svg, trying } from "../dom.js";
import { evaluationBar } from "../evaluation.js";

const CELL = 12; // size of a cell in the server's picture
const PRESETS = [
  ["scout", "Scout, 24 × 24"],
  ["classic", "Classic, 48 × 48"],
  ["cruiser", "Cruiser, 64 × 64"],
];
const WAYS = { N: "north", E: "east", S: "south", W: "west" };
const ARROWS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
const TERMS = {
  thrust: "thrust through the centre of mass",
  cockpit: "shelter of the cockpit",
  supply: "supplies near what needs them",
  crew: "crew near its stations",
  fire: "firepower",
  skin: "armoured skin",
};

export const title = () => "Starship";

export async function open(main, target) {
  let preset = target.more.preset || "scout",
    seed = Number(target.more.seed) || 0,
    moves = target.moves;
  let ship = null,
    before = null,
    way = "",
    at = null,
    advice = null,
    asking = null,
    working = false;

  const board = h("div", {
    class: "host",
    tabindex: 0,
    role: "application",
    "aria-label": "Ship: arrow keys choose a place, Enter takes it, R turns the part",
  });
  const status = h("p", { class: "status", role: "status" });
  const request = h("div", { class: "request" }),
    bars = h("div", { class: "terms" }),
    advised = h("div", { class: "advice" }),
    expected = evaluationBar({ players: 1 }, {}, 1);
  const undo = h("button", { onclick: () => trying(() => go(moves.slice(0, -1))) }, "Undo");
  const hint = h("button", { onclick: () => trying(advise) }, "What would the learned builder do?");
  const seedField = h("input", {
    type: "number",
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    value: seed,
    "aria-label": "Seed",
    onchange: () => trying(() => begin(preset, Math.max(0, Math.floor(Number(seedField.value) || 0)))),
  });
  const story = h("div", { class: "stages" });
  const stages = h("button", { onclick: () => trying(tellStages) }, "Show the generator's ship of this seed, stage by stage");
  main.append(
    h("h1", {}, "Starship"),
    h(
      "div",
      { class: "buttons" },
      select("Hull", PRESETS, preset, (name) => trying(() => begin(name, seed))),
      h("label", {}, "Seed ", seedField),
      h("button", { onclick: () => trying(() => begin(preset, seed + 1)) }, "Next hull"),
      undo,
    ),
    h(
      "div",
      { class: "game" },
      h("div", {}, board),
      h("div", {}, status, request, h("h2", {}, "Quality"), bars, h("div", { class: "buttons" }, hint), expected.element, advised),
    ),
    h("h2", {}, "How the generator builds"),
    h("div", { class: "buttons" }, stages),
    story,
  );

  const leaving = new AbortController();
  board.addEventListener("keydown", keys);
  await go(moves);
  return () => leaving.abort();

  async function begin(name, number) {
    [preset, seed] = [name, number];
    seedField.value = seed;
    story.replaceChildren();
    before = null;
    await go([]);
  }

  /** Shows the ship with parts at these places. */
  async function go(places) {
    working = true;
    if (!ship) status.textContent = "Loading; the first time it takes a minute …";
    try {
      const answer = await ask("api/ship", { preset, seed, moves: places }, leaving.signal);
      before = ship && answer.moves.length > ship.moves.length ? ship : null;
      [ship, moves, advice, at] = [answer, answer.moves, null, null];
      asking?.abort();
    } finally {
      working = false;
    }
    keepAddress({ page: "ship", moves, more: { preset, seed } });
    const ways = waysOpen();
    if (!ways.includes(way)) way = ways[0] ?? "";
    draw();
  }

  /** Returns the possible directions of the part. */
  function waysOpen() {
    return [...new Set((ship.legal ?? []).map((place) => place.way))];
  }

  /** Returns the legal places in the chosen direction. */
  function lit() {
    return (ship.legal ?? []).filter((place) => place.way === way);
  }

  async function take(place) {
    if (!working) await go([...moves, place.name]);
  }

  async function advise() {
    asking?.abort();
    asking = new AbortController();
    leaving.signal.addEventListener("abort", () => asking.abort());
    hint.disabled = true;
    advised.replaceChildren(h("p", { class: "quiet" }, "The builder values the places …"));
    try {
      advice = await ask("api/ship-advice", { preset, seed, moves }, asking.signal);
      at = ship.legal.find((place) => place.name === advice.best[0].name);
      way = at.way;
    } catch (problem) {
      advised.replaceChildren();
      throw problem;
    } finally {
      hint.disabled = !!ship.over;
    }
    draw();
  }

  function keys(event) {
    if (ship.over || working) return;
    const step = ARROWS[event.key];
    if (step) at = nearest(step);
    else if (event.key === "Enter" || event.key === " ") {
      if (at) trying(() => take(at));
    } else if (event.key === "r" || event.key === "R") turn();
    else return;
    event.preventDefault();
    draw();
  }

  function turn() {
    const ways = waysOpen();
    way = ways[(ways.indexOf(way) + 1) % ways.length];
    at = at && (lit().find((place) => place.x === at.x && place.y === at.y) ?? null);
    draw();
  }

  /** Returns the nearest place in a direction from the chosen one, or the first place. */
  function nearest([dx, dy]) {
    const places = lit();
    if (!at) return places[0] ?? null;
    const ahead = places.filter((place) => (place.x - at.x) * dx + (place.y - at.y) * dy > 0);
    const away = (place) => Math.abs(place.x - at.x) * (dx ? 1 : 3) + Math.abs(place.y - at.y) * (dy ? 1 : 3);
    return ahead.sort((a, b) => away(a) - away(b))[0] ?? at;
  }

  function draw() {
    drawBoard();
    drawRequest();
    drawTerms();
    drawAdvice();
    undo.disabled = !moves.length;
    hint.disabled = !!ship.over;
    if (ship.over) {
      status.textContent = ship.reasons.length
        ? `Not valid: ${ship.reasons.map((name) => name.replaceAll("_", " ")).join(", ")}`
        : `Finished with a quality of ${ship.quality.toFixed(3)}.`;
    } else {
      const where = at ? `, ${at.x},${at.y} facing ${WAYS[at.way]}` : "";
      status.textContent = `${ship.stage}: place the ${ship.request.part.toLowerCase()}${where}`;
    }
  }

  function drawBoard() {
    const image = document.importNode(new DOMParser().parseFromString(ship.svg, "image/svg+xml").documentElement, true);
    image.setAttribute("class", "board");
    image.setAttribute("viewBox", ship.box.join(" "));
    image.removeAttribute("width");
    image.removeAttribute("height");
    image.setAttribute("role", "img");
    image.setAttribute("aria-label", `The ship with ${moves.length} parts placed`);
    const places = svg("g", { class: "lit" }),
      ghost = svg("g", { class: "ghost" });
    for (const place of lit()) {
      const cell = svg(
        "rect",
        {
          x: place.x * CELL,
          y: place.y * CELL,
          width: CELL,
          height: CELL,
          class: "place",
          "data-place": place.name,
          onclick: () => trying(() => take(place)),
          onpointerenter: () => hover(place),
        },
        svg("title", {}, `${place.name}`),
      );
      places.append(cell);
    }
    const hover = (place) => ghost.replaceChildren(...(place ? [footprint(place, "footprint")] : []));
    image.addEventListener("pointerleave", () => hover(at));
    advice?.best.slice(0, 1).forEach((one) => {
      const place = ship.legal.find((other) => other.name === one.name);
      if (place) places.append(footprint(place, "advised"));
    });
    if (at) hover(at);
    image.append(ghost, places);
    board.replaceChildren(image);
  }

  function footprint(place, kind) {
    const [x, y, w, height] = [place.x, place.y, place.width, place.height].map((cells) => cells * CELL);
    const [cx, cy] = [x + w / 2, y + height / 2];
    const [dx, dy] = { N: [0, -1], E: [1, 0], S: [0, 1], W: [-1, 0] }[place.way];
    return svg(
      "g",
      { class: kind },
      svg("rect", { x, y, width: w, height }),
      svg("line", { x1: cx, y1: cy, x2: cx + (dx * w) / 2, y2: cy + (dy * height) / 2 }),
    );
  }

  function drawRequest() {
    if (ship.over) return request.replaceChildren();
    const part = (one) =>
      h("span", { class: "part" }, h("i", { style: `background:${one.colour}` }), `${one.part}${one.facing ? `, facing ${WAYS[one.facing]}` : ""}`);
    const ways = waysOpen();
    request.replaceChildren(
      ...[
        h("p", {}, part(ship.request), ` · ${ship.points} of ${ship.target} points`),
        ways.length > 1
          ? h(
              "div",
              { class: "buttons", role: "group", "aria-label": "Where its front faces" },
              "Front ",
              ways.map((one) =>
                h(
                  "button",
                  {
                    "aria-pressed": String(one === way),
                    onclick: () => {
                      way = one;
                      at = null;
                      draw();
                    },
                  },
                  WAYS[one],
                ),
              ),
              h("small", { class: "quiet" }, "key R"),
            )
          : null,
        ship.next.length ? h("p", { class: "quiet" }, "then ", ship.next.map(part)) : null,
        h("p", { class: "quiet" }, `${lit().length} places are lit; a place is the part's upper left cell.`),
      ].filter(Boolean),
    );
  }

  function drawTerms() {
    const quality = h("p", {}, h("strong", {}, ship.quality.toFixed(3)), change(ship.quality, before?.quality));
    bars.replaceChildren(
      quality,
      ...ship.terms.map((term, k) => {
        const old = before?.terms[k].value;
        return h(
          "div",
          {
            class: "term",
            role: "meter",
            "aria-label": `${term.name}: ${TERMS[term.name]}`,
            "aria-valuemin": 0,
            "aria-valuemax": 1,
            "aria-valuenow": term.value,
            title: `${TERMS[term.name]}; counts ${Math.round(100 * term.weight)} %`,
          },
          h("span", {}, term.name, h("small", { class: "quiet" }, ` ${Math.round(100 * term.weight)} %`)),
          h("span", { class: "bar" }, h("i", { style: `width:${100 * term.value}%` })),
          h("span", { class: "number" }, term.value.toFixed(2), change(term.value, old)),
        );
      }),
    );
  }

  function change(now, old) {
    const by = old === undefined ? 0 : now - old;
    if (Math.abs(by) < 0.0005) return null;
    return h("small", { class: by > 0 ? "better" : "worse" }, ` ${by > 0 ? "+" : "−"}${Math.abs(by).toFixed(3)}`);
  }

  function drawAdvice() {
    const value = ship.over ? ship.quality : advice?.best[0].value;
    expected.show(value === undefined ? null : { unit: ship.over ? "quality" : "expected quality", value_in_unit: value, worth: value.toFixed(3) });
    if (!advice || ship.over) return advised.replaceChildren();
    advised.replaceChildren(
      h("p", { class: "quiet" }, `Expected quality of the ship, for the best of ${advice.tried} places:`),
      h(
        "ol",
        {},
        advice.best.map((one, k) =>
          h(
            "li",
            {},
            h(
              "button",
              {
                class: k ? null : "best",
                onclick: () =>
                  trying(() => {
                    const place = ship.legal.find((other) => other.name === one.name);
                    return take(place);
                  }),
              },
              `${one.name.slice(0, -1)} facing ${WAYS[one.name.at(-1)]} `,
              h("strong", {}, one.value.toFixed(3)),
            ),
          ),
        ),
      ),
    );
  }

  async function tellStages() {
    stages.disabled = true;
    story.replaceChildren(h("p", { class: "quiet" }, "The generator builds …"));
    try {
      const answer = await ask("api/ship-stages", { preset, seed }, leaving.signal);
      story.replaceChildren(
        ...answer.stages.map((stage, k) => {
          const image = new DOMParser().parseFromString(stage.svg, "image/svg+xml").documentElement;
          return h("figure", {}, document.importNode(image, true), h("figcaption", {}, h("strong", {}, `${k + 1}. ${stage.name}`), ` ${stage.change}`));
        }),
        h("p", {}, answer.reasons.length ? `Not valid: ${answer.reasons.join(", ")}` : `Its quality is ${answer.quality.toFixed(3)}.`),
      );
    } finally {
      stages.disabled = false;
    }
  }
}
