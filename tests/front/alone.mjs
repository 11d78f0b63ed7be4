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
const { read, write, outcome, svg } = await import(own(`alone/${told.texts}.js`));
const code = readFileSync(`${folder}/data/${told.module.file}`);
const image = new Uint8Array(gunzipSync(readFileSync(`${folder}/data/${told.image.file}`)));
const engine = new Engine(new WebAssembly.Module(code), image.buffer, told.memory);
const options = told.drawing ?? told.about.option_values;

function parsed(text) {
  try {
    return read(text, options).find((row) => engine.check(row))?.map(String) ?? null;
  } catch {
    return null;
  }
}

function answer({ row, depth, simulations = 0 }) {
  const words = row.map(BigInt),
    seen = engine.look(words),
    text = write(words, options);
  let found;
  if (depth && !seen.over) for (found of engine.deepen(words, { depth }));
  if (simulations) for (found of engine.simulate(words, { simulations }));
  return {
    text,
    svg: svg?.(words, options),
    parsed: parsed(text),
    actions: seen.actions,
    outcomes: seen.outcomes.map((one, k, { length: n }) => [outcome(words, one.row, options, seen.stage, k, n), one.p, one.row.map(String)]),
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
