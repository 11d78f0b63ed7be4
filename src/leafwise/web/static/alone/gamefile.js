// Game files in the form of leafwise.envs.core.play.gamefile. Comments on moves are skipped.

import { Problem } from "../problem.js";

const MOST_GAMES = 100,
  TAGS = {
    Game: ["string"],
    Options: ["object"],
    Seed: ["number"],
    Start: ["string"],
    Players: ["array"],
    Result: ["number", "string"],
    Termination: ["string"],
  };

const bad = (line, expected, got) => new Problem(`game, line ${line}: expected ${expected}, got '${got.slice(0, 80)}'`, 400);

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function readTag(tags, line, number) {
  const [, name, body = ""] = /^\[(\w+) (.*)\]$/.exec(line) ?? [],
    value = parsed(body),
    kind = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  if (!TAGS[name]?.includes(kind) || Object.hasOwn(tags, name)) throw bad(number, `tags among ${Object.keys(TAGS).join(", ")}, each once, of its type`, line);
  tags[name] = value;
}

function readSteps(game, line, number) {
  const words = [];
  for (let rest = line; rest; rest = rest.trimStart()) {
    const [word] = /^("(?:[^"\\]|\\.)*"|;.*|>|[^\s;">[\]]+)/.exec(rest) ?? [];
    if (!word) throw bad(number, "names, '>' and '; WORDS'", rest);
    words.push(word);
    rest = rest.slice(word.length);
  }
  const take = () => {
    const [mark, word] = words.splice(0, 2),
      name = word?.startsWith('"') ? parsed(word) : word;
    if (!name || name === ">" || name.startsWith(";")) throw bad(number, `a name after ${mark}`, line);
    game.names.push(name);
  };
  if (/^\d+\.$/.test(words[0])) {
    if (parseInt(words[0], 10) !== ++game.moves) throw bad(number, `'${game.moves}. MOVE'`, line);
    take();
  }
  while (words.length && !words[0].startsWith(";")) {
    if (words[0] !== ">") throw bad(number, `'${game.moves + 1}. MOVE', '> OUTCOME' or '; WORDS'`, words[0]);
    take();
  }
}

/** Returns the games of a file: tags and names of steps. */
export function gamesOf(text) {
  const games = [];
  text.split("\n").forEach((raw, k) => {
    const line = raw.trim();
    if (line.startsWith("[Game ")) games.push({ tags: {}, names: [], moves: 0, line: k + 1 });
    const game = games.at(-1);
    if (line && !game) throw bad(k + 1, 'a game that begins with [Game "NAME"]', line);
    if (line.startsWith("[")) readTag(game.tags, line, k + 1);
    else if (line && !line.startsWith(";")) readSteps(game, line, k + 1);
  });
  if (!games.length || games.length > MOST_GAMES) throw bad(1, `1 to ${MOST_GAMES} games, each beginning with [Game "NAME"]`, String(games.length));
  return games;
}
