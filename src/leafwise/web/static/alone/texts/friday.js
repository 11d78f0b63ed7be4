// Positions of Friday as text and in words, in the form of leafwise.envs.friday.text and with its exported tables. Numbers that follow
// from the rules come as `figures`.

import { CARDS } from "../../games/cards.js";

const NONE = "none",
  OVER = ["won", "lost"],
  SIDES = ["left", "right"];
const CARD = /^([A-Z]\d{1,2})(!?)((?:\^(?:[A-Z]\d)?)?)(?:\*(\d{1,2}))?$/; // name, used or not, how doubled, how many
const ENTRY_BITS = 10;
/** @type {(bits: number) => bigint} */
const mask = (bits) => (1n << BigInt(bits)) - 1n;

/** @type {(ok: any, expected: string, got?: any) => void} */
function need(ok, expected, got = "none") {
  if (!ok) throw new Error(`expected ${expected}, got '${String(got).slice(0, 80)}'`);
}

// Piles: [kind, number] of each kind, ascending; lists have cards one by one.

function cardsIn(bits, { cards }) {
  const pile = [];
  cards.forEach(({ bits: width }, kind) => {
    const n = Number(bits & mask(width));
    if (n) pile.push([kind, n]);
    bits >>= BigInt(width);
  });
  return pile;
}

function shiftOf(kind, { cards }) {
  return BigInt(cards.slice(0, kind).reduce((sum, { bits }) => sum + bits, 0));
}

const countsOf = (pile, given) => pile.reduce((sum, [kind, n]) => sum + (BigInt(n) << shiftOf(kind, given)), 0n);

/** Returns one pile of several lists of cards. */
const summed = (...lists) => {
  const counts = new Map();
  for (const [kind, n] of lists.flat()) counts.set(kind, (counts.get(kind) ?? 0) + n);
  return [...counts].filter(([, n]) => n > 0);
};
const each = (kinds) => kinds.map((kind) => [kind, 1]);

/** Returns a pile without the cards of another. */
const without = (pile, other) => {
  const gone = new Map(other);
  return pile.map(([kind, n]) => [kind, n - (gone.get(kind) ?? 0)]).filter(([, n]) => n > 0);
};
const pileText = (pile, { cards }) => pile.map(([kind, n]) => cards[kind].name + (n > 1 ? `*${n}` : "")).join(",");

function fieldsIn(bits, width) {
  const numbers = [];
  for (; bits; bits >>= BigInt(width)) numbers.push(Number(bits & mask(width)));
  return numbers.filter(Boolean);
}

const partsOf = (typed) => (typed === NONE ? [] : typed.split(",").filter(Boolean));

function kindOf(name, { names }) {
  need(Object.hasOwn(names, name), "cards like S1 or W8", name);
  return names[name];
}

function cardOf(part, given, plain = false) {
  const [whole, name, used, mark, n] = CARD.exec(part) ?? [];
  need(whole && !(plain && (used || mark)), "cards like S1*2, W8! or C1^E7", part);
  return [kindOf(name, given), used.length, mark, Number(n ?? 1)];
}

const doubler = (mark, { doublers }) => (mark.slice(1) ? doublers.indexOf(mark.slice(1)) : 0);

/** For each kind of word: how to read and write it, unpack it from its field and pack it. */
/** @type {Record<string, any>} */
const KINDS = {
  word: {
    read(typed, { most }) {
      need(/^\d{0,2}$/.test(typed) && Number(typed) <= most, `a number of 0 to ${most}`, typed);
      return Number(typed);
    },
    write: (value) => (value ? String(value) : ""),
    unpack: Number,
    pack: BigInt,
  },
  choice: {
    read(typed, { choices }) {
      need(!typed || choices.includes(typed), `one of ${choices.filter(Boolean).join(", ")}`, typed);
      return typed;
    },
    write: (value) => value,
    unpack: (bits, { choices }) => choices[Number(bits)],
    pack: (value, { choices }) => BigInt(value ? choices.indexOf(value) : 0),
  },
  pile: {
    read: (typed, field, given) =>
      summed(
        partsOf(typed).map((part) => {
          const [kind, , , n] = cardOf(part, given, true);
          return [kind, n];
        }),
      ),
    write: (value, field, given) => pileText(value, given),
    unpack: (bits, { lowest }, given) => cardsIn(bits << BigInt(lowest), given),
    pack: (value, { lowest }, given) => countsOf(value, given) >> BigInt(lowest),
  },
  cards: {
    read(typed, { most, items }, given, one = (part) => kindOf(part, given)) {
      const parts = partsOf(typed);
      need(parts.length <= most && (!items.length || new Set(parts).size === parts.length), `at most ${most}, each once`, typed);
      return parts.map(one);
    },
    write: (value, field, { cards }) => value.map((kind) => cards[kind].name).join(","),
    unpack: (bits, { width, items, first }) =>
      items.length ? items.filter((_, k) => (bits >> BigInt(k)) & 1n) : fieldsIn(bits, width).map((n) => n - 1 + first),
    pack: (value, { width, items, first }) =>
      value.reduce((sum, item, k) => sum | (items.length ? 1n << BigInt(items.indexOf(item)) : BigInt(item + 1 - first) << BigInt(width * k)), 0n),
  },
  side: {
    read: (typed, field, given) =>
      partsOf(typed).flatMap((part) => {
        const [kind, used, mark, n] = cardOf(part, given);
        return Array.from({ length: n }, () => ({ kind, used, mark }));
      }),
    write(value, field, { cards }) {
      const words = new Map();
      for (const { kind, used, mark } of value) {
        const word = cards[kind].name + "!".repeat(used) + mark;
        words.set(word, (words.get(word) ?? 0) + 1);
      }
      return [...words].map(([word, n]) => word + (n > 1 ? `*${n}` : "")).join(",");
    },
    unpack: () => [], // spans several fields
    pack: (value, field, given) => countsOf(summed(each(value.filter(({ used }) => !used).map(({ kind }) => kind))), given),
  },
  acting: {
    read(typed, field, given) {
      if (!typed) return null;
      const [, side, card] = /^(left|right):(.*)$/.exec(typed) ?? [],
        [, name, used, mark, n] = CARD.exec(card) ?? [];
      need(name && !used && n === undefined, "acting like left:W8 or right:E7^F5", typed);
      return { kind: kindOf(name, given), side: SIDES.indexOf(side), mark };
    },
    write: (value, field, { cards }) => (value ? `${SIDES[value.side]}:${cards[value.kind].name}${value.mark}` : ""),
    unpack(bits, field, { doublers }) {
      const n = Number(bits);
      return n ? { kind: (n >> 4) - 1, side: (n >> 3) & 1, mark: n & 7 ? `^${doublers[(n & 7) - 1]}` : "" } : null;
    },
    pack: (value, field, given) => BigInt(value ? ((value.kind + 1) << 4) | (value.side << 3) | (value.mark ? 1 + doubler(value.mark, given) : 0) : 0),
  },
};
KINDS.pirates = {
  ...KINDS.cards,
  read: (typed, field, given) =>
    KINDS.cards.read(typed, field, given, (part) => {
      need(/^P([1-9]|10)$/.test(part), "pirates among P1 to P10", part);
      return Number(part.slice(1));
    }),
  write: (value) => value.map((number) => `P${number}`).join(","),
};

function bitsOf(row, { at: [word, shift, bits] }) {
  return (row[word] >> BigInt(shift)) & mask(bits);
}

const valueOf = (row, name, given) => KINDS[given.fields[name].kind].unpack(bitsOf(row, given.fields[name]), given.fields[name], given);

/** Row words of the table: left unused, left used, right unused, right used; and the entries of doubled cards. */
const tableWords = ({ fields }) => [fields.left.at[0], fields.left.at[0] + 1, fields.right.at[0], fields.right.at[0] + 1];
const doubledWord = ({ fields }) => fields.top.at[0] + 1;

/** Returns the face-up cards on the table in the order of their slots. */
function tableOf(row, given) {
  const entries = fieldsIn(row[doubledWord(given)], ENTRY_BITS),
    words = tableWords(given);
  return [0, 1].flatMap((side) => {
    const piles = [0, 1].map((used) => new Map(cardsIn(row[words[2 * side + used]], given)));
    const kinds = [...new Set(piles.flatMap((pile) => [...pile.keys()]))].sort((a, b) => a - b);
    return kinds.flatMap((kind) =>
      [0, 1].flatMap((used) => {
        const by = entries.filter((entry) => entry >> 2 === (((kind + 1) << 2) | (side << 1) | used)).map((entry) => `^${given.doublers[entry & 3]}`);
        const plain = Array.from({ length: Math.max(0, (piles[used].get(kind) ?? 0) - by.length) }, () => "");
        return [...plain, ...by].map((mark) => ({ kind, side, used, mark }));
      }),
    );
  });
}

/** Returns the fields of a row. */
function fieldsOf(row, given) {
  const fields = Object.fromEntries(Object.keys(given.fields).map((name) => [name, valueOf(row, name, given)])),
    shown = (mark) => (given.double_needs_source ? mark : mark.slice(0, 1)); // how a card is doubled
  for (const card of tableOf(row, given)) fields[SIDES[card.side]].push({ ...card, mark: shown(card.mark) });
  if (fields.acting) fields.acting.mark = shown(fields.acting.mark);
  fields.stack = without(fields.stack, summed(each([...fields.bottom, ...fields.top])));
  for (const name of ["fought", "beaten"]) fields[name] = fields[name].map((index) => fields.pirates[index]);
  if (!["aging", "card"].includes(fields.turn)) fields.to = "";
  return fields;
}

function rowOf(fields, given) {
  const indicesOf = (name) => fields[name].map((pirate) => fields.pirates.indexOf(pirate));
  const words = { ...fields, fought: indicesOf("fought"), beaten: indicesOf("beaten"), stack: summed(fields.stack, each([...fields.top, ...fields.bottom])) },
    row = Array.from({ length: given.width }, () => 0n),
    /** @type {bigint[]} */ entries = [];
  for (const [name, field] of Object.entries(given.fields)) row[field.at[0]] |= KINDS[field.kind].pack(words[name], field, given) << BigInt(field.at[1]);
  SIDES.forEach((name, side) =>
    fields[name].forEach(({ kind, used, mark }) => {
      if (used) row[tableWords(given)[2 * side + 1]] += 1n << shiftOf(kind, given);
      if (mark) entries.push(BigInt(((kind + 1) << 4) | (side << 3) | (used << 2) | doubler(mark, given)));
    }),
  );
  entries.sort((a, b) => Number(a - b));
  row[doubledWord(given)] = entries.reduce((sum, entry, k) => sum | (entry << BigInt(ENTRY_BITS * k)), 0n);
  return row;
}

const onTable = (fields) => SIDES.flatMap((name) => fields[name]);
const owned = (fields) =>
  summed(fields.stack, fields.discard, fields.down, each([...fields.top, ...fields.bottom, ...onTable(fields).map(({ kind }) => kind), ...fields.look]));
const allCards = (fields) => summed(owned(fields), fields.hazards, fields.away, each(fields.active), fields.aging);

/** Returns the cards of an unspecified home pile that lie nowhere. */
function missingFrom(home, fields, given) {
  const isGiven = fields[home].length || (home === "stack" && (fields.top.length || fields.bottom.length)),
    passed = fields.phase === "pirates" || (fields.turn === "choose" && fields.active.length < 2);
  return isGiven || OVER.includes(fields.turn) || (home === "hazards" && passed) ? [] : without(given.start[home], allCards(fields));
}

export function write(row, given) {
  const fields = fieldsOf(row, given),
    words = Object.entries(given.fields).map(([name, field]) => [name, KINDS[field.kind].write(fields[name], field, given)]);
  const text = { ...Object.fromEntries(words), life: String(fields.life) };
  for (const home of Object.keys(given.homes)) if (missingFrom(home, fields, given).length) text[home] = NONE;
  return Object.entries(text)
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}

/** Fills unspecified piles in the first turn; later their cards may have left the game. */
function complete(fields, typed, given) {
  const isHazard = (kind) => given.homes.hazards[0] <= kind && kind <= given.homes.hazards[1],
    away = fields.away.reduce((sum, [, n]) => sum + n, 0),
    first = fields.phase === "green" && away < 2 && !fields.discard.length && !owned(fields).some(([kind]) => isHazard(kind));
  for (const home of Object.keys(given.homes)) {
    if (typed[home] !== undefined) continue;
    const missing = missingFrom(home, fields, given);
    need(first || !missing.length, `${home}=, as ${pileText(missing, given)} lie nowhere`);
    if (missing.length) fields[home] = missing;
  }
}

/** Checks what a row cannot hold. */
function checkCards(fields, given) {
  const inside = (pile, [first, last]) => pile.every(([kind]) => first <= kind && kind <= last),
    start = new Map(Object.values(given.start).flat());
  need(inside(summed(fields.hazards, fields.away, each(fields.active)), given.homes.hazards), "hazards W1 to C1");
  need(inside(fields.aging, given.homes.aging), "aging cards G1 to D3");
  for (const [kind, n] of allCards(fields)) need(n <= (start.get(kind) ?? 0), `at most ${start.get(kind) ?? 0} of ${given.cards[kind].name} in all`, n);
  const marks = onTable(fields)
    .map(({ mark }) => mark)
    .filter(Boolean);
  need(marks.length <= given.entries, `at most ${given.entries} doubled cards`, marks.length);
  for (const mark of [...marks, fields.acting?.mark ?? ""])
    need(!mark || (given.double_needs_source ? given.doublers.includes(mark.slice(1)) : mark === "^"), "^ and the card that doubles", mark);
  need(
    fields.lowered.every((kind) => given.fields.lowered.items.includes(kind)),
    "cards that lower the phase",
  );
}

/** Returns the possible rows of a text; the rules decide which is a position. */
export function read(text, given) {
  /** @type {Record<string, string>} */ const typed = {};
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const [, name, value] = /^([a-z]+)=(.+)$/.exec(word) ?? [];
    need(name && Object.hasOwn(given.fields, name) && !Object.hasOwn(typed, name), "words NAME=VALUE, each name once", word);
    typed[name] = value;
  }
  for (const name of ["turn", "phase"]) need(typed[name], `a ${name} among ${given.fields[name].choices.join(", ")}`);
  const fields = Object.fromEntries(Object.entries(given.fields).map(([name, field]) => [name, KINDS[field.kind].read(typed[name] ?? "", field, given)]));
  complete(fields, typed, given);
  need(
    [...fields.fought, ...fields.beaten].every((pirate) => fields.pirates.includes(pirate)),
    "fought and beaten among the pirates",
  );
  need(Boolean(fields.to) === ["aging", "card"].includes(fields.turn), "to= at turn=aging and turn=card only", fields.to);
  checkCards(fields, given);
  if (!fields.stack.length) [fields.top, fields.bottom] = [[], [...fields.top, ...fields.bottom]]; // known cards on a known stack
  need(fields.bottom.length <= given.queue, `at most ${given.queue} cards whose place is known`, fields.bottom.length);
  for (const name of ["pirates", "active", "look"]) fields[name].sort((a, b) => a - b);
  return [rowOf(fields, given)];
}

/** Returns the pirate or the card that chance picked. */
export function outcome(before, after, given) {
  const turn = valueOf(before, "turn", given),
    of = (row, name) => valueOf(row, name, given);
  const newly = (name) => pileText(without(summed(each(of(after, name))), summed(each(of(before, name)))), given);
  if (turn === "pirate") return `P${of(after, "pirates").find((one) => !of(before, "pirates").includes(one))}`;
  if (turn === "card" && of(before, "to") === "look") return newly("look");
  const name = { aging: "aging", hazard: "hazards" }[turn] ?? "stack";
  return pileText(without(of(before, name), of(after, name)), given);
}

// Words for people: names of cards instead of codes.

const inWords = (kind, { cards }) => CARDS[cards[kind].name];

function hazardInWords(kind, phase, given) {
  const { title, values, free } = given.hazards[given.cards[kind].name[0]];
  return `${title.toLowerCase()} (value ${values[Math.min(phase, 2)]}, ${free} free) for ${inWords(kind, given)}`;
}

const pirateValue = (place, figures) => [figures.first_pirate, figures.second_pirate][place];

function pirateInWords(row, place, given, figures) {
  const number = valueOf(row, "pirates", given)[place],
    { free, words } = given.pirates[number - 1];
  return `pirate ${number} (value ${pirateValue(place, figures)}, ${free ? `${free} free` : "all their free cards"}${words ? `, ${words}` : ""})`;
}

/** Returns the effect of ending the fight now. */
function ending(row, given, { asked, total, hunger }) {
  const life = valueOf(row, "life", given),
    short = Math.max(0, asked - total),
    [place] = valueOf(row, "fought", given);
  if (short + hunger > life) return `lose the game (${short + hunger} life to pay, ${life} left)`;
  if (short) return `lose ${short + hunger} life`;
  const beaten = place === undefined ? `win ${inWords(valueOf(row, "active", given)[0], given)}` : `beat pirate ${valueOf(row, "pirates", given)[place]}`;
  return beaten + (hunger ? `, pay ${hunger} life` : "");
}

/** Returns a legal action in words. */
export function words(row, name, given, figures) {
  const of = (field) => valueOf(row, field, given),
    turn = of("turn"),
    ability = of("ability"),
    phase = Number(bitsOf(row, given.fields.phase)),
    [, verb, slot] = /^(use|card)(\d+)$/.exec(name) ?? [];
  if (verb === "card" && (turn === "arrange" || turn === "order")) {
    const card = inWords(of("look")[slot], given);
    return turn === "arrange" ? `discard ${card}` : `put ${card} back on top`;
  }
  if (verb) {
    const { kind, side, mark } = tableOf(row, given)[slot],
      card = inWords(kind, given),
      { cost } = given.cards[kind];
    if (verb === "use") return `use ${card}`;
    if (turn === "remove") return `remove ${card} (${cost} point${cost > 1 ? "s" : ""})`;
    return `${given.on_card[ability].replace("{}", card)} on the ${SIDES[side]}${mark ? ", doubled" : ""}`;
  }
  const place = ["first", "second"].indexOf(name);
  if (place >= 0) return `fight ${phase === 3 ? pirateInWords(row, place, given, figures) : hazardInWords(of("active")[place], phase, given)}`;
  return {
    free: () => `draw a free card (${of("free") + 1} of ${figures.free})`,
    pay: () => `pay ${of("pirates")[of("fought")[0]] === given.costly ? 2 : 1} life for a card`,
    discard: () => "reject the last hazard",
    draw: () => (ability === "sort" ? "look at one more" : "draw on"),
    end: () => (turn === "fight" ? `end the fight: ${ending(row, given, figures)}` : turn === "offer" ? given.no_offer[ability] : given.no_more[turn]),
  }[name]();
}

/** Returns the pirate or the card that chance picked, in words; `figures(row)` are those of a position. */
export function outcomeWords(before, after, given, figures) {
  const turn = valueOf(before, "turn", given),
    name = outcome(before, after, given);
  if (turn === "pirate") return pirateInWords(after, valueOf(after, "pirates", given).indexOf(Number(name.slice(1))), given, figures(after));
  return turn === "hazard" ? hazardInWords(given.names[name], Number(bitsOf(before, given.fields.phase)), given) : CARDS[name];
}

/** Returns a share in percent, without decimals; halves go to the even number, as in Python. */
function percent(share) {
  const whole = Math.floor(100 * share),
    rest = 100 * share - whole;
  return `${whole + Number(rest > 0.5 || (rest === 0.5 && whole % 2 === 1))} %`;
}

/** Returns the lines of the page, in the form of leafwise.envs.friday.draw. */
export function board(row, given, figures) {
  const of = (name) => valueOf(row, name, given),
    [turn, phase, pirates, active] = ["turn", "phase", "pirates", "active"].map(of);
  const pirateLines = pirates.map((number, place) => {
    const { free, words } = given.pirates[number - 1],
      state = ["beaten", "fought"].filter((name) => of(name).includes(place)).map((name) => ` [${name}]`);
    return `pirate P${number}: value ${pirateValue(place, figures)}, ${free || "all"} free${words ? `, ${words}` : ""}${state.join("")}`;
  });
  const hazardLines = active.map((kind) => {
    const { name } = given.cards[kind],
      { title, values, free } = given.hazards[name[0]],
      value = values[Math.min(Number(bitsOf(row, given.fields.phase)), 2)];
    return `hazard ${name} ${title}: value ${value}, ${free} free; wins ${inWords(kind, given)}`;
  });
  const choices = turn !== "choose" ? [] : phase === "pirates" ? pirateLines : hazardLines;
  choices.forEach((line, k) => (choices[k] = `${["first", "second"][k]}: ${line}`));
  const next = cardsIn(BigInt(figures.next_cards), given),
    sum = next.reduce((n, [, m]) => n + m, 0);
  next.sort(([, a], [, b]) => b - a);
  const odds = next.slice(0, 10).map(([kind, n]) => `${given.cards[kind].title} ${percent(n / sum)}`),
    isFight = of("fought").length || (active.length === 1 && !["choose", "hazard"].includes(turn));
  return [
    `life ${of("life")}/${given.life}   phase ${phase}`,
    ...pirateLines,
    ...hazardLines,
    isFight && `fight: total ${figures.total} against ${figures.asked}, free cards ${of("free")}/${figures.free}`,
    turn === "remove" && `removal points ${of("points")}`,
    OVER.includes(turn) && `final score ${figures.points}`,
    next.length && `next card: ${odds.join(", ")}${next.length > 10 ? ", ..." : ""}`,
  ]
    .filter(Boolean)
    .join("\n");
}

export const points = (row, returns, figures) => figures.points;
