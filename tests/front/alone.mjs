// Answers positions by an exported search, and plays random games, under node: reads {folder, build, game, options, positions, damaged, plies}
// and prints what it finds as JSON.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";

const { folder, build, game, options: given, positions, damaged, plies } = JSON.parse(readFileSync(0, "utf8"));
const own = (name) => pathToFileURL(`${folder}/${build}/${name}`);
const { Engine } = await import(own("alone/engine.js"));
const { plainSha256 } = await import(own("alone/sha256.js"));
const told = JSON.parse(readFileSync(own("index.json"), "utf8")).variants.find(
  ({ about }) => about.game === game && JSON.stringify(about.options) === JSON.stringify(given),
);
const { read, write, outcome, svg, words, outcomeWords, board, points } = await import(own(`alone/${told.texts}.js`));
const code = readFileSync(`${folder}/data/${told.module.file}`);
const image = new Uint8Array(gunzipSync(readFileSync(`${folder}/data/${told.image.file}`)));
const engine = new Engine(new WebAssembly.Module(code), image.buffer, told.memory);
const options = told.drawing ?? { ...told.about.option_values, ...told.tables };

function parsed(text) {
  try {
    return read(text, options).find((row) => engine.check(row))?.map(String) ?? null;
  } catch {
    return null;
  }
}

function answer({ row, depth, nodes = 0, simulations = 0 }) {
  const own = row.map(BigInt),
    seen = engine.look(own),
    text = write(own, options),
    figures = (one) => engine.look(one).figures;
  let found;
  if (nodes) engine.views["B.options.recall"][0] = 0n; // what was cut off follows from no other position
  if (depth && !seen.over) for (found of engine.deepen(own, { depth, nodes }));
  if (simulations) for (found of engine.simulate(own, { simulations }));
  return {
    text,
    svg: svg?.(own, options),
    board: board?.(own, options, seen.figures),
    points: points?.(own, seen.returns, seen.figures),
    parsed: parsed(text),
    actions: seen.actions,
    words: words && seen.actions.map((id) => words(own, told.about.actions[id], options, seen.figures)),
    outcomes: seen.outcomes.map((one, k, { length: n }) => [outcome(own, one.row, options, seen.stage, k, n), one.p, one.row.map(String)]),
    outcome_words: seen.outcomes.map((one) => outcomeWords?.(own, one.row, options, figures)),
    returns: seen.returns,
    over: seen.over,
    value: found?.value,
    values: found?.values.map((one) => [one.action, one.value]),
    visits: found?.values.map((one) => one.visits),
    best: found?.action,
  };
}

/** Plays at random, one game after another: each ply's row, its actions or number of outcomes, and which of them was taken. */
function walk(start) {
  let row = start,
    state = 1;
  const random = (n) => (state = (state * 48271) % 2147483647) % n;
  return Array.from({ length: plies }, () => {
    const { over, actions, outcomes } = engine.look(row),
      k = over ? -1 : random(actions.length || outcomes.length);
    const ply = [row.map(String), outcomes.length || actions, k];
    row = over ? start : outcomes.length ? outcomes[k].row : engine.act(row, actions[k]);
    return ply;
  });
}

const digests = [plainSha256(code), createHash("sha256").update(code).digest()].map((bytes) => Buffer.from(bytes).toString("hex"));
console.log(JSON.stringify({ answers: positions.map(answer), damaged: damaged.map(parsed), digests, walk: walk(told.start.map(BigInt)) }));
