// Training: the runs of the server's folder, the growing curves of a run, and games of its network.

import { address, keepAddress } from "../address.js";
import { ask } from "../api.js";
import { brief, chart } from "../chart.js";
import { complain, h, trying } from "../dom.js";
import { replay } from "../replay.js";

const AGAIN = 5000; // milliseconds between two updates of a run

export const title = (target) => (target.game ? `Run ${target.game}` : "Training");

/** The charts: title, unit, tags with their names, tags of an interval, a note; all other tags are below "More curves". */
const CHARTS = [
  { name: "Score", unit: "mean of the evaluation", tags: { "eval/score_mean": "evaluation" }, interval: ["eval/score_ci_low", "eval/score_ci_high"] },
  { name: "Elo", unit: "Elo points", tags: { "eval/elo": "newest", "eval/best_elo": "best" } },
  { name: "Games of the learner", unit: "mean return of a game", tags: { "rollout/ep_rew_mean": "mean return" } },
  { name: "Loss", unit: "loss", tags: { "train/loss": "loss", "train/value_loss": "value loss" } },
  {
    name: "Error of the values",
    unit: "root mean square, in points",
    tags: { "train/error": "from one move to the next" },
    note: "It rises as games get longer and scores higher.",
  },
];
const SHOWN = new Set(CHARTS.flatMap(({ tags, interval = [] }) => [...Object.keys(tags), ...interval]));

export async function open(main, target) {
  return target.game ? openRun(main, target) : openList(main);
}

async function openList(main) {
  const answer = await ask("api/runs", {});
  main.append(h("h1", {}, "Training runs"));
  if (!answer.runs.length) {
    main.append(
      h("p", {}, `There are no runs in ${answer.folder ? `the folder ${answer.folder}` : "a folder runs"} where the server was started.`),
      h("p", {}, "Start a run in a shell, for instance: ", h("code", {}, "leafwise train threes")),
    );
    return;
  }
  main.append(
    h(
      "ul",
      { class: "cards" },
      answer.runs.map((run) =>
        h(
          "li",
          {},
          h("h2", {}, h("a", { href: address({ page: "train", game: run.name }) }, run.name)),
          run.wrong ? h("p", { class: "quiet" }, run.wrong) : h("p", {}, summary(run)),
        ),
      ),
    ),
  );
}

function summary(run) {
  const what = [run.game, run.variant, run.method].filter(Boolean).join(", ");
  const mean = run.score?.mean;
  const state = { running: "running", finished: "finished", stopped: `stopped ${ago(run.quiet)} ago` }[run.state];
  return [what, state, mean === undefined ? "" : `score ${brief(mean)}`].filter(Boolean).join(" · ");
}

function ago(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 129600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

async function openRun(main, target) {
  const state = h("p", { class: "status", role: "status" }),
    first = h("p", { class: "quiet" });
  const charts = h("div", { class: "charts" }),
    more = h("div", { class: "charts" }),
    options = h("dl", { class: "options" });
  const games = h("section", { "aria-label": "Games of its network" });
  main.append(
    h("h1", {}, `Run ${target.game}`),
    state,
    first,
    charts,
    h("details", {}, h("summary", {}, "More curves"), more),
    h("details", {}, h("summary", {}, "Options"), options),
    games,
  );
  const end = new AbortController();
  let timer = 0,
    finished = false;

  async function look() {
    const run = await ask("api/run", { name: target.game }, end.signal);
    const steps = `${run.steps.toLocaleString("en")}${run.total_steps ? ` of ${run.total_steps.toLocaleString("en")}` : ""} steps`;
    state.textContent = `${summary(run)} · ${steps}`;
    charts.replaceChildren(...CHARTS.map((one) => shown(run.curves, one)).filter(Boolean));
    const { interval, evaluate_every: every } = run.options;
    first.textContent =
      !run.curves["eval/score_mean"]?.length && interval > 0 && every > 0
        ? `The first score comes after ${(interval * every).toLocaleString("en")} steps (interval × evaluate_every).`
        : "";
    if (!charts.children.length) charts.append(h("p", { class: "quiet" }, "No curves yet."));
    more.replaceChildren(
      ...Object.entries(run.curves)
        .filter(([tag]) => !SHOWN.has(tag))
        .map(([tag, points]) => figure({ name: tag }, [{ name: tag, points, colour: 1 }])),
    );
    const given = Object.entries(run.options).filter(([, value]) => value !== null && String(value) !== "");
    options.replaceChildren(...given.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, Array.isArray(value) ? value.join(", ") : String(value))]));
    finished = run.state === "finished";
    return run;
  }
  async function again() {
    if (end.signal.aborted) return;
    if (!document.hidden && !finished && (await trying(look))) complain("");
    timer = setTimeout(again, AGAIN);
  }
  const run = await look();
  timer = setTimeout(again, AGAIN);
  openGames(games, run, target, end.signal);
  return () => {
    end.abort();
    clearTimeout(timer);
  };
}

function shown(curves, about) {
  const { tags, interval = [] } = about;
  const [low, high] = interval.map((tag) => new Map(curves[tag] ?? []));
  const series = Object.entries(tags)
    .filter(([tag]) => curves[tag]?.length)
    .map(([tag, title], k) => ({
      name: title,
      points: curves[tag],
      colour: k + 1,
      band: low && k === 0 ? curves[tag].filter(([x]) => low.has(x) && high.has(x)).map(([x]) => [x, low.get(x), high.get(x)]) : [],
    }));
  return series.length ? figure(about, series) : null;
}

function figure({ name, unit = "", note = "" }, series) {
  const legend = series.map((one) =>
    h("span", { class: `chart-name chart-colour-${one.colour}` }, `${one.name}${one.band?.length ? " with 95 % interval" : ""}`),
  );
  return h(
    "figure",
    {},
    h("figcaption", {}, h("strong", {}, name), " ", legend),
    chart(series, name, { x: "steps", y: unit }),
    note && h("small", { class: "quiet" }, note),
  );
}

/** Plays and shows games of the run's network. */
function openGames(host, run, target, signal) {
  host.append(h("h2", {}, "Games of its network"));
  if (!run.has_model) return host.append(h("p", { class: "quiet" }, "The run has no network yet."));
  let seed = Number(target.more.seed) || 0;
  const board = h("div", {}),
    line = h("p", { class: "status", role: "status" });
  const button = h("button", { class: "main", onclick: () => trying(next) }, "Play a game");
  async function next() {
    button.disabled = true;
    line.textContent = "The network plays. The first game takes longer, since code is compiled …";
    try {
      const game = await ask("api/run-game", { name: run.name, seed }, signal);
      const result = game.cut ? "shown up to here" : `result ${game.result.toLocaleString("en")}`;
      line.textContent = `Game ${seed} of the network after ${game.model_steps?.toLocaleString("en")} steps: ${result}.`;
      board.replaceChildren();
      replay(board, game);
      keepAddress({ ...target, more: { seed } });
      button.textContent = "Play another game";
      seed += 1;
    } finally {
      button.disabled = false;
    }
  }
  host.append(
    h("p", {}, "The run's network plays by its values alone, in two-player games against itself."),
    h("div", { class: "buttons" }, button),
    line,
    board,
  );
}
