// Follows a game at a real table: a tap or two letters tell what happened, and the page shows the value of every option.
// The address holds the game: #/follow/GAME?o=OPTIONS&t=START&m=STEPS.

import { address, keepAddress } from "../address.js";
import { ask, stream } from "../api.js";
import { gameModule } from "../games/index.js";
import { betweenClicks, complain, h, trying } from "../dom.js";
import { withDifference } from "../analysis.js";

const LETTERS = 2; // number of typed letters after which a single fitting choice is taken
const SECONDS = 3; // of the search for a decision
const GRACE = 500; // milliseconds in which further letters of a word are ignored

export const title = () => "At the table";

/** Whether a typed text matches a choice: the beginning of its words or their initials, then perhaps a number. */
export function fits(typed, words) {
  const [, letters, digits] = /^([a-z ]*?)\s*(\d*)$/.exec(typed.toLowerCase()) || [];
  if (letters === undefined) return false;
  const parts = words.toLowerCase().match(/[a-z]+|\d+/g) || [];
  if (digits && !parts.some((part) => part === digits)) return false;
  const names = parts.filter((part) => /[a-z]/.test(part));
  const initials = names.map((name) => name[0]).join("");
  return names.join(" ").startsWith(letters) || (letters.length > 1 && initials.startsWith(letters));
}

export async function open(main, target) {
  let now = null,
    advice = null,
    searching = null,
    busy = false,
    deaf = 0;
  const leaving = new AbortController(),
    drawChoices = betweenClicks(drawnChoices);

  const status = h("p", { class: "status", role: "status" }),
    last = h("p", { class: "quiet" });
  const picture = h("div", { class: "host picture" }),
    choices = h("div", { class: "choices", role: "group", "aria-label": "What happened" });
  const notes = h("ul", { class: "notes" }),
    lines = h("ol", { class: "moves" }),
    legend = h("pre", { class: "legend" });
  const typed = h("input", {
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": "Type what happened",
    placeholder: "or type: two letters, or a number and Enter",
    oninput: typing,
    onkeydown: keys,
  });
  const undo = h("button", { onclick: takeBack }, "Undo");
  const analysis = h("a", { class: "button" }, "Analyse"),
    rules = h("a", { class: "button", href: address({ page: "rules", game: target.game }) }, "Rules");
  const again = h("button", { onclick: () => trying(() => begin()) }, "New game");
  const help = h("pre", { class: "legend" });
  main.append(
    h("h1", {}, "At the table"),
    h(
      "div",
      { class: "game" },
      h("div", {}, status, choices, h("div", { class: "buttons" }, typed, undo, again, analysis, rules), last, notes),
      h(
        "div",
        {},
        picture,
        h("details", {}, h("summary", {}, "The game so far"), lines),
        h("details", {}, h("summary", {}, "Cards and their codes"), legend),
        h("details", {}, h("summary", {}, "What may be typed"), help),
      ),
    ),
  );
  const board = (await gameModule(target.game)).makeBoard(picture, {}, () => {});
  status.textContent = "Loading the game; the first time it must be compiled …";
  if (target.start) await show(await ask("api/follow", { game: target.game, options: target.options, text: target.start, moves: target.moves }));
  else await begin();
  return () => {
    leaving.abort();
    searching?.abort();
  };

  /** Asks for the first position. */
  async function begin() {
    await show(await ask("api/follow", { game: target.game, options: {} }, leaving.signal));
  }

  /** Sends what happened, or an undo. */
  async function send(what) {
    if (busy) return;
    busy = true;
    try {
      complain("");
      await show(await ask("api/follow", { game: target.game, options: now.options, text: now.first, moves: now.moves, ...what }, leaving.signal));
    } finally {
      busy = false;
    }
  }

  function takeBack() {
    return trying(() => (now.moves.length ? send({ undo: true }) : begin()));
  }

  function say(line) {
    return trying(() => send({ line, best: advice?.best ?? "" }));
  }

  async function show(answer) {
    searching?.abort();
    [now, advice] = [answer, null];
    keepAddress({ page: "follow", game: target.game, options: now.first ? now.options : {}, start: now.first, moves: now.moves });
    typed.value = "";
    status.textContent = now.state?.over ? now.question.asks : `${now.state?.player === "chance" || !now.state ? "" : "You decide: "}${now.question.asks}`;
    last.textContent = now.told ? `Taken down: ${now.told}` : "";
    undo.disabled = !now.first;
    again.hidden = analysis.hidden = !now.first;
    analysis.href = address({ page: "analyse", game: target.game, options: now.options, start: now.first, moves: now.moves });
    help.textContent = now.help;
    legend.textContent = now.legend;
    legend.parentElement.hidden = !now.legend;
    lines.replaceChildren(...now.lines.map((line) => h("li", {}, line)));
    showBoard();
    drawChoices();
    if (matchMedia("(pointer: fine)").matches) typed.focus();
    if (now.state && now.state.player !== "chance" && !now.state.over) trying(think);
  }

  function showBoard() {
    picture.hidden = !now.state;
    if (now.state) board.show(now.state, { live: false });
  }

  function drawnChoices() {
    const worth = new Map(advice?.options.map((one) => [one.name, one]) ?? []);
    const shown = now.question.choices.filter((one) => fits(typed.value, one.words) || String(one.number).startsWith(typed.value));
    choices.replaceChildren(
      ...shown.map((one) =>
        h(
          "button",
          { class: advice?.best === one.name ? "best" : null, "data-name": one.name, onclick: () => say(one.name) },
          h("span", {}, h("small", { class: "quiet" }, `${one.number} `), worth.get(one.name)?.words ?? one.words),
          one.chance === null
            ? h("strong", {}, withDifference(worth.get(one.name)?.told ?? "", worth.get(one.name)?.difference))
            : h("span", { class: "quiet" }, `${(100 * one.chance).toFixed(1)} %`),
        ),
      ),
    );
    notes.replaceChildren(...(advice ? [`${advice.unit}, ${advice.depth} decisions deep`, ...advice.notes] : []).map((note) => h("li", {}, note)));
  }

  async function think() {
    searching = new AbortController();
    const start = now;
    for await (const { event, data } of stream(
      "api/follow-advice",
      { game: target.game, options: now.options, text: now.state.text, seconds: SECONDS },
      searching.signal,
    )) {
      if (start !== now) return;
      if (event === "stage" && data === "loading") notes.replaceChildren(h("li", {}, "loading the search; the first time it must be compiled …"));
      if (event === "answer") {
        advice = data;
        drawChoices();
      }
    }
  }

  function typing() {
    if (Date.now() < deaf) typed.value = "";
    const text = typed.value.trim();
    const fitting = now.question.choices.filter((one) => fits(text, one.words));
    if (text.length >= LETTERS && /[a-z]/i.test(text) && fitting.length === 1) {
      deaf = Date.now() + GRACE;
      say(fitting[0].name);
    } else drawChoices();
  }

  function keys(event) {
    if (event.key === "Enter") say(typed.value.trim());
    else if ((event.key === "Backspace" && !typed.value) || (event.key === "z" && (event.ctrlKey || event.metaKey))) takeBack();
    else return;
    event.preventDefault();
  }
}
