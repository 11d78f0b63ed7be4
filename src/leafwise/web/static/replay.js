// Shows a game step by step: the answer of /api/run-game, or one game of /api/read.

import { ask } from "./api.js";
import { h, trying } from "./dom.js";

const BEAT = 700; // milliseconds of a step in automatic play

/** Shows a game in an element: picture, slider, buttons; arrow keys go a step back or forward. */
export function replay(host, game) {
  // Outcomes of chance belong to the move before them: stops are the positions of decisions, and the last one.
  const stops = game.steps.reduce(
    (stopsSoFar, step) => {
      if (step.player !== "chance") stopsSoFar.push({ names: [step.name], player: step.player });
      else if (stopsSoFar.length > 1) stopsSoFar.at(-1).names.push(step.name);
      stopsSoFar.at(-1).text = step.text;
      return stopsSoFar;
    },
    [{ names: [], text: game.first }],
  );
  const picture = h("div", { class: "picture" }),
    words = h("p", { role: "status" });
  const pictures = new Map();
  let at = 0,
    timer = 0;
  const slider = h("input", { type: "range", min: 0, max: stops.length - 1, value: 0, "aria-label": "Move", oninput: () => go(Number(slider.value)) });
  const play = h("button", { onclick: () => (timer ? stop() : start()) }, "Play");
  const step = (by) => () => {
    stop();
    go(at + by);
  };
  host.append(
    picture,
    words,
    h(
      "div",
      { class: "buttons", onkeydown: keys },
      h("button", { onclick: step(-1), "aria-label": "Back" }, "‹"),
      play,
      h("button", { onclick: step(1), "aria-label": "On" }, "›"),
      slider,
    ),
  );
  go(0);

  function keys(event) {
    if (event.target === slider) return;
    if (event.key === "ArrowLeft") step(-1)();
    else if (event.key === "ArrowRight") step(1)();
  }
  function start() {
    if (at === stops.length - 1) at = -1;
    play.textContent = "Pause";
    const tick = async () => {
      await go(at + 1);
      if (at >= stops.length - 1 || !host.isConnected) stop();
      else if (timer) timer = setTimeout(tick, BEAT);
    };
    timer = setTimeout(tick, 0);
  }
  function stop() {
    clearTimeout(timer);
    timer = 0;
    play.textContent = "Play";
  }
  async function go(to) {
    at = Math.max(0, Math.min(stops.length - 1, to));
    slider.value = at;
    const current = stops[at],
      who = game.players?.length > 1 && at ? `, player ${current.player}` : "";
    words.textContent = at ? `Move ${at} of ${stops.length - 1}${who}: ${current.names.join(", then ")}` : `Start, ${stops.length - 1} moves`;
    await trying(async () => {
      if (!pictures.has(at)) {
        const state = await ask("api/state", { game: game.game, options: game.options, text: current.text, svg: true });
        pictures.set(at, state.svg ?? "");
      }
      if (current === stops[at]) {
        const image = new DOMParser().parseFromString(pictures.get(at), "image/svg+xml").documentElement;
        picture.replaceChildren(document.importNode(image, true));
      }
    });
  }
}
