// The rules of the games in half a page, each with a position for a picture. Other games show their own title.

import { svg } from "./dom.js";
import { gameModule } from "./games/index.js";

export const RULES = {
  trilobite: {
    text: "......./......./...o.../..xx.../..oxo../.xoxox.",
    options: { k: 4 },
    goal: "Get so many chips in a row: across, up or diagonally. Three on the board of 3×3, four on 5×5 and in Connect Four.",
    rules: [
      "Red and Yellow take turns. You choose a column that is not full, and your chip falls to its lowest free cell.",
      "Whoever completes a row wins at once. A full board without one is a draw.",
    ],
    hint: "A row that needs a cell nobody can reach yet is worth waiting for: count who will have to fill the cell below it.",
  },
  cassis: {
    text: "xo..x/.xo./o.x/.o/x",
    goal: "Do not close a triangle of your own colour.",
    rules: [
      "Some points lie on a circle, at first six. Red and Blue take turns to colour one free line between two points.",
      "Whoever completes a triangle of three lines in their own colour, with its corners on points, loses at once.",
      "With six points or more somebody always loses. With fewer, a full board is a draw.",
    ],
    hint: "Count the lines that each of you can still colour safely; whoever runs out first loses.",
  },
  trap: {
    text: "......./.#.1.../...#.../..#..../...2.#./....#../....... turn=0",
    goal: "Shut the other player in, so that no neighbouring cell is free.",
    rules: [
      "A turn has two parts. You move to one of the eight neighbouring cells, if it is free. Then you throw a trap at any cell without a player.",
      "A throw next to you never misses. Each step further (rows and columns together) costs 5 % of its accuracy; a miss lands on a neighbour of the target.",
      "A trap stays. Who cannot move has lost; who is shut in by his own throw loses at once, unless the other is shut in too.",
    ],
    hint: "Freedom counts twice: keep your neighbours free, and throw where the other one wants to go.",
  },
  threes: {
    text: "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 next=1 deck=0,2,1",
    goal: "Score as much as you can before no move is left.",
    rules: [
      "A swipe moves every tile that can move by one cell. 1 and 2 make 3; from 3 on two equal tiles make one of twice the value.",
      'After each swipe the tile shown as "next" enters at the side that was swiped from, in a row or column that moved.',
      "Tiles 1, 2 and 3 are drawn from a deck of twelve, four of each. When a 48 lies on the board a larger tile, a bonus, may come too.",
      "A tile scores three times as much as the one half its value: a 3 scores 3, a 6 scores 9, a 12 scores 27.",
    ],
    hint: "Keep the largest tile in a corner and the tiles beside it in order.",
  },
  friday: {
    text: "turn=fight phase=green life=14 pirates=P2,P8 left=S2,W5,S4 right=S3 active=E1 free=2",
    board: "life 14/22",
    goal: "Get Robinson through three rounds of hazards, green, yellow and red, and past two pirates.",
    rules: [
      "Two hazards are revealed, and you fight one. It names its strength in this round and how many cards you draw free; more cards cost a life each.",
      "If your cards reach its strength, the hazard card is yours, turned round: a better card for later fights.",
      "If not, you lose the difference in life, and may remove weak cards for as many points. That is how the deck gets better.",
      "When the deck is used up an aging card is shuffled in, which hurts. Cards with an ability can be used once a fight.",
      "Without life to pay you have lost. After the red round the two pirates are fought.",
    ],
    hint: "Losing a cheap fight early to remove weak cards is often better than winning it.",
  },
  starship: {
    ship: [
      "######cc###",
      "LL####.####",
      "LL####.######",
      "LL.###.######",
      "##........####",
      "##.AA####.####",
      "##.AA#CC#.####",
      "##..##CC#.##.c",
      "c##.......##.c",
      "c.##.#RR#.##.#",
      "#.##.#RR#.##.#",
      "#....#.##.##.#",
      "#PP#.#.##....#",
      "#PP.......HH.#",
      "....bQQ#.#HH##",
      "THH.bQQ..#",
      "THHt#####",
    ],
    goal: "Build the best ship from the parts that are asked for: its quality is between 0 and 1.",
    rules: [
      "A hull is given, full of corridors. One request after another asks for a part: cockpit, reactor, thrusters, weapons, supplies, rooms for the crew.",
      "You choose where it stands, and which way it faces where that is open. Thrusters and weapons need free space before them, rooms a door, and the crew a way round.",
      "Six terms make the quality: thrust through the centre of mass, shelter of the cockpit, supplies near what needs them, crew near its stations, firepower and armour outside.",
    ],
    hint: "Early parts decide: keep room in the middle for the cockpit, and both sides alike in mass.",
  },
};
const PARTS = {
  "#": "#5c6880",
  ".": "#d9d4c5",
  C: "#f4c542",
  R: "#d93a4e",
  t: "#ffa25e",
  T: "#f47f3c",
  H: "#d9601a",
  c: "#8fb8ff",
  L: "#4a86e8",
  A: "#9b7ede",
  P: "#37c6c0",
  Q: "#5fb562",
  b: "#a5d77f",
};

/** Draws a game into an element as a mere picture: its position from RULES, else the SVG text `drawn`, if any. */
export async function picture(host, game, drawn = "") {
  const entry = RULES[game];
  host.inert = true;
  host.ariaHidden = "true";
  if (!entry) {
    if (!drawn) return;
    const image = document.importNode(new DOMParser().parseFromString(drawn, "image/svg+xml").documentElement, true);
    image.setAttribute("class", "board");
    host.append(image);
    return;
  }
  if (entry.ship) {
    host.append(
      svg(
        "svg",
        { viewBox: "-1 -1 16 19", class: "board", style: "background:#0d1321" },
        entry.ship.flatMap((row, y) => [...row].map((part, x) => svg("rect", { x, y, width: 1.02, height: 1.02, fill: PARTS[part] }))),
      ),
    );
    return;
  }
  const module = await gameModule(game);
  const state = { text: entry.text, board: entry.board ?? "", player: 1, stage: "decision", actions: [], outcomes: [], over: false, words: {} };
  module
    .makeBoard(host, { option_values: entry.options ?? {}, actions: [] }, () => {})
    .show(state, { live: false, last: [], worths: null, shares: null, best: null, line: [] });
  host.removeAttribute("tabindex");
}
