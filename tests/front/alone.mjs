// Searches positions with an exported page's engine under node, and plays random games. Reads JSON {folder, build, game, options, positions,
// damaged, plies} and prints the results as JSON.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";

const { folder, build, game, options: given, positions, damaged, plies } = JSON.parse(readFileSync(0, "utf8"));
const address = (name) => pathToFileURL(`${folder}/${build}/${name}`);
const { Engine } = await import(address("alone/engine.js"));
const { plainSha256 } = await import(address("alone/sha256.js"));
const variant = JSON.parse(readFileSync(address("index.json"), "utf8")).variants.find(
  ({ about }) => about.game === game && JSON.stringify(about.options) === JSON.stringify(given),
);
const { read, write, outcome, svg, words, outcomeWords, board, points } = await import(address(`alone/${variant.texts}.js`));
const code = readFileSync(`${folder}/data/${variant.module.file}`);
const image = new Uint8Array(gunzipSync(readFileSync(`${folder}/data/${variant.image.file}`)));
const engine = new Engine(new WebAssembly.Module(code), image.buffer, variant.memory);
const options = variant.drawing ?? { ...variant.about.option_values, ...variant.tables };

function parsed(text) {
  try {
    return (
      read(text, options)
        .find((row) => engine.check(row))
        ?.map(String) ?? null
    );
  } catch {
    return null;
  }
}

function answer({ row: words64, depth, nodes = 0, simulations = 0 }) {
  const row = words64.map(BigInt),
    seen = engine.look(row),
    text = write(row, options),
    figures = (one) => engine.look(one).figures;
  let result;
  if (nodes) engine.views["B.options.recall"][0] = 0n; // so that no cutoff comes from an earlier position
  if (depth && !seen.over) for (result of engine.deepen(row, { depth, nodes }));
  if (simulations) for (result of engine.simulate(row, { simulations }));
  return {
    text,
    svg: svg?.(row, options),
    board: board?.(row, options, seen.figures),
    points: points?.(row, seen.returns, seen.figures),
    parsed: parsed(text),
    actions: seen.actions,
    words: words && seen.actions.map((id) => words(row, variant.about.actions[id], options, seen.figures)),
    outcomes: seen.outcomes.map((one, k, { length: n }) => [outcome(row, one.row, options, seen.stage, k, n), one.p, one.row.map(String)]),
    outcome_words: seen.outcomes.map((one) => outcomeWords?.(row, one.row, options, figures)),
    returns: seen.returns,
    over: seen.over,
    value: result?.value,
    values: result?.values.map((one) => [one.action, one.value]),
    visits: result?.values.map((one) => one.visits),
    best: result?.action,
  };
}

/** Plays random games; returns each ply's row, its actions or number of outcomes, and the index of the choice. */
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
console.log(JSON.stringify({ answers: positions.map(answer), damaged: damaged.map(parsed), digests, walk: walk(variant.start.map(BigInt)) }));
