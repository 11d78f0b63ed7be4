"""Draws Friday: a table in lines for a terminal, and a drawing for SVG and RGB."""

from __future__ import annotations

from leafwise.envs.core.arrays import Array
from leafwise.envs.core.pictures import Canvas
from leafwise.envs.friday.cards import CARDS, FIRST_AGING, HAZARDS, NAMES, PHASES, PIRATES
from leafwise.envs.friday.figures import figures
from leafwise.envs.friday.layout import DOWN
from leafwise.envs.friday.tables import Tables
from leafwise.envs.friday.text import TITLES, cards_in, in_words, number, pile_text, pirate_values, table_cards, value

QUESTIONS = {
    "choose": "choose: first or second (a last hazard: first, or discard)",
    "fight": "fight: free or pay for a card, useN, end",
    "target": "choose a card: cardN",
    "offer": "draw, or end",
    "arrange": "discard one of the cards looked at (cardN), or end",
    "order": "put the cards looked at back on top, one after another: cardN",
    "remove": "remove cards: cardN, end",
    "won": "won",
    "lost": "lost",
}
ORDER = ("first", "second")
PILE_TITLES = {"stack": "stack", "discard": "discard", "hazards": "hazards", "away": "hazard discard", "aging": "aging"}
WIDTH, HEIGHT = 760, 560
INK, PAPER, FAINT = "#22313f", "#f4efe3", "#8a8f94"
PHASE_COLOURS = ("#4f9d69", "#a87a00", "#c0392b", "#2c3e50")
CARD_WIDTH, CARD_HEIGHT, PER_ROW = 66, 52, 10
SHOWN = 20
"""Table cards drawn on each side; more are only counted."""


def is_fight(row: Array) -> bool:
    """Whether there is a fight against a hazard or a pirate."""
    fought = number(row, "fought")
    return bool(fought) or (len(value(row, "active")) == 1 and value(row, "turn") not in ("choose", "hazard"))


def hazard_line(kind: int, row: Array) -> str:
    """Returns a hazard in words, with both halves of its card."""
    hazard = HAZARDS[NAMES[kind][0]]
    asked = hazard.values[min(number(row, "phase"), 2)]
    return f"{NAMES[kind]} {hazard.title}: value {asked}, {hazard.free} free; wins {in_words(kind)}"


def pirate_line(index: int, row: Array, T: Tables) -> str:
    """Returns a pirate in words, with its current value."""
    pirate_number = value(row, "pirates")[index]
    state = "".join(f" [{name}]" for name in ("beaten", "fought") if index in value(row, name))
    pirate = PIRATES[pirate_number - 1]
    asked = pirate_values(row, T)[index]
    words = f", {pirate.words}" if pirate.words else ""
    return f"P{pirate_number}: value {asked}, {pirate.free or 'all'} free{words}{state}"


def sides(row: Array, T: Tables) -> tuple[list[str], list[str]]:
    """Returns the pirates and the revealed hazards in words, with the actions that choose between them."""
    pirates = [f"pirate {pirate_line(place, row, T)}" for place in range(len(value(row, "pirates")))]
    hazards = [f"hazard {hazard_line(kind, row)}" for kind in value(row, "active")]
    if value(row, "turn") == "choose":
        choices = pirates if number(row, "phase") == 3 else hazards
        choices[:] = [f"{order}: {words}" for order, words in zip(ORDER, choices, strict=False)]
    return pirates, hazards


def chances(row: Array, T: Tables) -> list[tuple[int, float]]:
    """Returns the possible next cards of the stack: (kind, probability), the likeliest first; [] if it is empty."""
    cards = cards_in(figures(row, T).next_cards)
    n = sum(cards.values())
    return sorted(((kind, count / n) for kind, count in cards.items()), key=lambda pair: -pair[1])


def odds_line(cards: list[tuple[int, float]]) -> str:
    """Returns the likeliest next cards by name, with their probabilities."""
    shown = ", ".join(f"{TITLES[kind]} {100 * p:.0f} %" for kind, p in cards[:10])
    return shown + ", ..." * (len(cards) > 10)


def fight_words(row: Array, T: Tables, of: str) -> str:
    """Returns the total and the required value, and the free cards drawn and allowed, joined by `of`."""
    numbers = figures(row, T)
    return f"total {numbers.total} against {numbers.asked}, free cards {number(row, 'free')}{of}{numbers.free}"


def slot_lines(row: Array) -> list[str]:
    """Returns a line for each card on the table."""
    lines = []
    for slot, (kind, side, used, by) in enumerate(table_cards(row)):
        marks = ["used"] * used + [f"doubled by {by[1:]}"] * bool(by)
        note = f"  [{', '.join(marks)}]" if marks else ""
        lines.append(f"  {slot:>2}  {('left', 'right')[side]:<5}  {NAMES[kind]:<4} {in_words(kind)}{note}")
    if row[DOWN]:
        lines.append(f"      face down: {pile_text(value(row, 'down'))}")
    return lines


def points(row: Array, T: Tables) -> float:
    """Returns the booklet's score, if the game ended here."""
    return float(figures(row, T).points)


def to_board(row: Array, T: Tables) -> str:
    """Returns the table in lines: piles, hazards or pirates, the fight, and the odds of the next card."""
    # Life, pirates and piles.
    turn, top, bottom = value(row, "turn"), value(row, "top"), value(row, "bottom")
    lines = [f"life {number(row, 'life')}/{int(T.max_life)}   phase {value(row, 'phase')}"]
    pirates, hazards_here = sides(row, T)
    lines += pirates
    for name, title in (PILE_TITLES | {"aging": "aging pile"}).items():
        cards = value(row, name)
        lines.append(f"{title:<14} {sum(cards.values()):>2}  {pile_text(cards)}".rstrip())
    if top or bottom:
        places = ("on top", top), ("at the bottom", bottom)
        lines.append(
            "known          " + "; ".join(f"{where} {' '.join(NAMES[k] for k in ks)}" for where, ks in places if ks)
        )

    # Hazards, the fight and the table.
    lines += hazards_here
    if is_fight(row):
        lines.append(f"fight: {fight_words(row, T, '/')}")
    lines += slot_lines(row)
    acting = value(row, "acting")
    if acting is not None:
        ability = value(row, "ability")
        lines.append(f"{ability} by {NAMES[acting[0]]}")
    looked = value(row, "look")
    lines += [f"  {place:>2}  looked at {NAMES[kind]:<4} {in_words(kind)}" for place, kind in enumerate(looked)]
    if turn == "remove":
        lines.append(f"removal points {number(row, 'points')}")
    if turn in ("won", "lost"):
        lines.append(f"final score {points(row, T):.0f}")
    next_card = chances(row, T)
    if next_card:
        lines.append(f"next card: {odds_line(next_card)}")
    return "\n".join([*lines, QUESTIONS.get(turn, f"chance: {turn}")])


def card_box(canvas: Canvas, x: float, y: float, slot: int, kind: int, used: int, by: str) -> None:
    """Draws the card in a slot of the table."""
    card = CARDS[kind]
    fill = "#d9c2c2" if kind >= FIRST_AGING else "#ffffff"
    canvas.box(x, y, CARD_WIDTH, CARD_HEIGHT, fill="#d7d7d7" if used else fill, edge="#d9a514" if by else INK, radius=5)
    canvas.text(x + 14, y + 14, str(card.value), size=17, colour="#c0392b" if card.value < 0 else INK)
    name = f"{slot}: {NAMES[kind]}" + " x2" * bool(by)
    canvas.text(x + CARD_WIDTH - 5, y + 12, name, size=10, colour=FAINT, anchor="end")
    canvas.text(x + CARD_WIDTH / 2, y + 31, card.title, size=10)
    canvas.text(x + CARD_WIDTH / 2, y + 44, card.words, size=8, colour=FAINT)


def side_of_table(canvas: Canvas, y: float, name: str, cards: list[tuple[int, int, int, str]]) -> None:
    """Draws one side of the table in two lines; a card is (slot, kind, used, doubled by)."""
    more = f" (+{len(cards) - SHOWN})" if len(cards) > SHOWN else ""
    canvas.text(16, y, name + more, size=13, colour=FAINT, anchor="start")
    for k, (slot, kind, used, by) in enumerate(cards[:SHOWN]):
        cell = k % PER_ROW, k // PER_ROW
        card_box(canvas, 16 + cell[0] * (CARD_WIDTH + 7), y + 12 + cell[1] * (CARD_HEIGHT + 6), slot, kind, used, by)


def draw(row: Array, T: Tables) -> Canvas:
    """Returns a drawing of a row."""
    # The head: phase and life.
    canvas = Canvas(WIDTH, HEIGHT, PAPER)
    phase = number(row, "phase")
    canvas.box(0, 0, WIDTH, 40, fill=PHASE_COLOURS[phase])
    life = number(row, "life")
    canvas.text(16, 20, f"Friday, {PHASES[phase]}", size=18, colour="#ffffff", anchor="start")
    canvas.text(WIDTH - 16, 20, f"life {life} of {int(T.max_life)}", size=18, colour="#ffffff", anchor="end")
    for k in range(int(T.max_life)):
        canvas.disc(200 + 16 * k, 20, 5, fill="#ffffff" if k < life else "#3b3b3b")

    # Piles, and the odds of the next card.
    for k, (name, title) in enumerate(PILE_TITLES.items()):
        x = 16 + 112 * k
        canvas.box(x, 52, 100, 54, fill="#e3dac6", edge=INK, radius=6)
        canvas.text(x + 50, 70, str(sum(value(row, name).values())), size=20)
        canvas.text(x + 50, 94, title, size=11, colour=FAINT)
    canvas.text(590, 54, "next card", size=11, colour=FAINT, anchor="start")
    for k, (kind, p) in enumerate(chances(row, T)[:6]):
        y = 64 + 17 * k
        canvas.text(590, y + 7, TITLES[kind], size=10, anchor="start")
        canvas.box(680, y, max(2, 30 * p), 12, fill="#7fb3d5")
        canvas.text(WIDTH - 16, y + 7, f"{100 * p:.0f} %", size=11, anchor="end")

    # Pirates, hazards and the fight.
    top = 128
    pirates, revealed_here = sides(row, T)
    for words, colour in [(p, INK) for p in pirates] + [(h, PHASE_COLOURS[min(phase, 2)]) for h in revealed_here]:
        canvas.text(16, top, words, size=13, colour=colour, anchor="start")
        top += 20
    if is_fight(row):
        words = fight_words(row, T, " of ")
        if row[DOWN]:
            words += f", face down: {pile_text(value(row, 'down'))}"
        canvas.text(16, 214, words, size=16, anchor="start")

    # The table, and what to do.
    for side, name in enumerate(("left", "right")):
        cards = [(slot, kind, used, by) for slot, (kind, s, used, by) in enumerate(table_cards(row)) if s == side]
        side_of_table(canvas, 240 + 140 * side, name, cards)
    looked = value(row, "look")
    acting = value(row, "acting")
    foot = QUESTIONS.get(value(row, "turn"), f"chance: {value(row, 'turn')}")
    if acting is not None:
        foot = f"{value(row, 'ability')} by {NAMES[acting[0]]}: {foot}"
    if looked:
        foot += f"   [{' '.join(NAMES[kind] for kind in looked)}]"
    if value(row, "turn") == "remove":
        foot += f"   [{number(row, 'points')} points]"
    canvas.text(16, HEIGHT - 24, foot, size=14, anchor="start")
    return canvas
