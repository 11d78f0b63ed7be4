"""Reads a position from text: every card at most as often as it is printed, and every step one that can be under way."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.texts import need
from leafwise.envs.friday import layout as at
from leafwise.envs.friday.cards import (
    BELOW,
    CARDS,
    COPY,
    DOUBLERS,
    EXCHANGE,
    FIRST_AGING,
    FIRST_KNOWLEDGE,
    LOWERERS,
    NAMES,
    PHASES,
)
from leafwise.envs.friday.chance import open_outcomes
from leafwise.envs.friday.rules import legal_actions
from leafwise.envs.friday.tables import Tables, at_start, counts
from leafwise.envs.friday.text import (
    HOMES,
    LOWEST,
    cards_in,
    lost_from,
    may_be_empty,
    names_text,
    pile_text,
    table_cards,
    write,
)
from leafwise.envs.friday.words import ABILITY_NAMES, NONE, NUMBERS, PILES, PLACES, TURNS, Words

ROW = np.uint64(0)
CHANCE = TURNS[:4]
ABILITY_TURNS = ("target", "offer", "arrange", "order")
Table = list[tuple[int, int, int, str]]


def parse_row(line: str, T: Tables) -> NDArray[np.uint64]:
    """Returns the row that a line of text describes; raises ValueError in the game's words."""
    words = Words(line)
    turn, phase = words.choice("turn"), words.choice("phase")
    need(turn, f"a turn among {', '.join(TURNS)}")
    need(phase, f"a phase among {', '.join(PHASES)}")
    complete(words, turn, phase, T)
    need(words.number("life") <= int(T.max_life), f"life of 0 to {int(T.max_life)}", words.number("life"))
    table: Table = [(kind, side, used, by) for side in range(2) for kind, used, by in words.table(PLACES[side])]
    row = np.zeros(at.WIDTH, dtype=np.uint64)
    for name in NUMBERS:
        write(row, name, words.number(name))
    write_piles(row, words, table, T)
    write_table(row, table, T)
    write_status(row, words, turn, phase)
    write_fight(row, words, turn, table, T)
    check_turn(row, words, turn, phase, T)
    return row


def complete(words: Words, turn: str, phase: str, T: Tables) -> None:
    """Fills in the stack, the hazard stack and the aging pile where nothing is said of them: in the first turn by what is missing.

    Later, when cards may have left the game, raises ValueError for what is missing.
    """
    lying = Counter(
        [*words.sequence("top"), *words.sequence("bottom"), *words.sequence("look"), *words.sequence("active")]
    )
    lying += Counter(kind for side in PLACES[:2] for kind, *_ in words.table(side))
    for name in PILES:
        lying += words.cards(name)
    owned = lying - words.cards("hazards") - words.cards("away") - Counter(words.sequence("active"))
    few_away = words.cards("away").total() < 2 and not words.cards("discard")
    first_turn = phase == PHASES[0] and few_away and not any(kind in HOMES["hazards"] for kind in owned)
    for home in HOMES:
        if words.values.get(home) == NONE:
            del words.values[home]
            continue
        told = home in words.values or (home == "stack" and ("top" in words.values or "bottom" in words.values))
        if told or may_be_empty(home, turn, phase, len(words.sequence("active"))):
            continue
        missing = pile_text(lost_from(home, lying, T))
        gone = f"{home}={NONE} says that they have left the game"
        need(not missing or first_turn, f"{home}=, as {missing} lie nowhere ({gone})")
        if missing:
            words.values[home] = missing


def write_piles(row: NDArray[np.uint64], words: Words, table: Table, T: Tables) -> None:
    """Writes the piles; no card may be in more places than there are copies."""
    stack, top, bottom = words.cards("stack"), words.sequence("top"), words.sequence("bottom")
    if not stack:
        top, bottom = [], top + bottom
    need(len(bottom) <= at.QUEUE_CARDS, f"at most {at.QUEUE_CARDS} cards whose place is known", len(bottom))
    possessed = stack + words.cards("discard") + words.cards("down")
    possessed += Counter([*top, *bottom, *(card[0] for card in table), *words.sequence("look")])
    hazards = words.cards("hazards") + words.cards("away") + Counter(words.sequence("active"))
    aging = words.cards("aging")
    for name, pile in (("hazards", hazards), ("aging", aging)):
        low, high = (FIRST_KNOWLEDGE, FIRST_AGING) if name == "hazards" else (FIRST_AGING, len(CARDS))
        strange = [NAMES[kind] for kind in pile if not low <= kind < high]
        need(not strange, f"{name} from {NAMES[low]} to {NAMES[high - 1]}", ",".join(strange))
    start = [cards_in(at_start(pile, T)) for pile in range(3)]
    for kind, n in (possessed + hazards + aging).items():
        most = sum(cards.get(kind, 0) for cards in start)
        need(n <= most, f"at most {most} of {NAMES[kind]} in all", n)
    need(T.face_down or not words.cards("down"), "no cards face-down with destroy='immediate'", "some")
    again = [kind for kind, side, used, by in table if not used] + list(stack.elements()) + words.sequence("look") + top
    movable = sum(CARDS[kind].ability in (COPY, BELOW) for kind in again)
    known = len(bottom) + movable
    need(known <= at.QUEUE_CARDS, f"at most {at.QUEUE_CARDS} cards that can be known", names_text(bottom))
    piles = {name: words.cards(name) for name in PILES} | {"stack": stack + Counter([*top, *bottom])}
    for name, cards in piles.items():
        write(row, name, counts(cards) >> LOWEST.get(name, 0))
    write(row, "top", packed(top))
    write(row, "bottom", packed(bottom))


def packed(kinds: list[int]) -> int:
    """Packs kinds into fields of 6 bits, the first lowest."""
    return sum((kind + 1) << 6 * k for k, kind in enumerate(kinds))


def write_table(row: NDArray[np.uint64], table: Table, T: Tables) -> None:
    """Writes the cards on the table and how they are doubled."""
    entries = []
    sources = [by[1:] for *_, by in table if len(by) > 1]
    need(len(set(sources)) == len(sources), "each card to double one other", ",".join(sources))
    for kind, side, used, by in table:
        able = CARDS[kind].ability != 0 and kind < FIRST_AGING
        need(able or not used, "only cards with an ability to be used", NAMES[kind])
        if by:
            expected = f"^ and one of {', '.join(DOUBLERS)}" if T.needs_source else "^ alone"
            need((by[1:] in DOUBLERS) if T.needs_source else by == "^", expected, by)
            at_work = any(CARDS[k].name == by[1:] and u and k != kind for k, _, u, _ in table)
            need(at_work or not T.needs_source, f"a used {by[1:]} on the table, which doubles another", NAMES[kind])
            source = DOUBLERS.index(by[1:]) if T.needs_source else 0
            entries.append((kind + 1) << 4 | side << 3 | used << 2 | source)
        row[at.LEFT + 2 * side + used] += np.uint64(counts({kind: 1}))
    need(len(entries) <= at.ENTRIES, f"at most {at.ENTRIES} doubled cards", len(entries))
    row[at.DOUBLED] = sum(entry << 10 * k for k, entry in enumerate(sorted(entries)))


def write_status(row: NDArray[np.uint64], words: Words, turn: str, phase: str) -> None:
    """Writes life, phase, pirates and hazards."""
    pirates, fought, beaten = (words.sequence(name) for name in ("pirates", "fought", "beaten"))
    count = len(set(pirates))
    typed = {name: words.values.get(name) for name in ("pirates", "fought", "beaten")}
    right = count == len(pirates) and (count < 2) == (turn == "pirate")
    need(right, "two different pirates (fewer at turn=pirate)", typed["pirates"])
    apart = {*fought, *beaten} <= {*pirates} and not {*fought} & {*beaten}
    need(
        apart,
        f"fought and beaten apart and among the pirates {typed['pirates']}",
        f"{typed['fought']}, {typed['beaten']}",
    )
    need(phase == "pirates" or not fought + beaten, "pirates to be fought in phase=pirates", phase)
    need(len(set(beaten)) == len(beaten), "each beaten pirate once", typed["beaten"])
    pirates.sort()
    write(row, "phase", PHASES.index(phase))
    write(row, "turn", TURNS.index(turn))
    write(row, "pirates", sum(p << 4 * k for k, p in enumerate(pirates)))
    write(row, "fought", 1 + pirates.index(fought[0]) if fought else 0)
    write(row, "beaten", sum(1 << pirates.index(p) for p in beaten))
    write(row, "active", packed(sorted(words.sequence("active"))))
    need(turn == "lost" or not words.number("debt"), "no debt in a game that goes on", words.number("debt"))
    to = words.choice("to")
    need(bool(to) == (turn in ("aging", "card")), "to= at turn=aging and turn=card only", to or "none")
    if to:
        write(row, "to", PLACES.index(to))


def write_fight(row: NDArray[np.uint64], words: Words, turn: str, table: Table, T: Tables) -> None:
    """Writes what belongs to one fight, and the ability under way."""
    looked, lowered = sorted(words.sequence("look")), [NAMES[kind] for kind in words.sequence("lowered")]
    for name in lowered:
        there = any(CARDS[kind].name == name and used for kind, _, used, _ in table)
        need(name in LOWERERS and there, f"lowered by used cards among {', '.join(LOWERERS)}", name)
    ability, acting = words.choice("ability"), words.acting()
    need(bool(ability) == (acting is not None), "ability= and acting= together", ability or "none")
    lowest, points = words.sequence("from"), words.number("points")
    need(turn == "remove" or not (lowest or points), "points= and from= at turn=remove only", turn)
    if acting is not None:
        kind, side, by = acting
        need((kind, side, 1, by) in table, "a used card on the table that acts", NAMES[kind])
        number = ABILITY_NAMES.index(ability)
        own = {number, EXCHANGE} if number == len(ABILITY_NAMES) - 1 else {number}
        need(
            CARDS[kind].ability in own or (CARDS[kind].ability == COPY and number != COPY),
            f"a card that can {ability}",
            NAMES[kind],
        )
        doubled = 1 + (DOUBLERS.index(by[1:]) if T.needs_source else 0) if by else 0
        write(row, "acting", (kind + 1) << 4 | side << 3 | doubled)
        write(row, "ability", number)
    need(ability == "sort" or not looked, "cards looked at with ability=sort only", ability or "none")
    write(row, "lowered", sum(1 << LOWERERS.index(name) for name in set(lowered)))
    write(row, "look", packed(looked))
    write(row, "from", lowest[0] if lowest else 0)


def check_turn(row: NDArray[np.uint64], words: Words, turn: str, phase: str, T: Tables) -> None:
    """Checks that the words fit the turn, and that somebody can act."""
    active, fought = len(words.sequence("active")), len(words.sequence("fought"))
    table, pirates = len(table_cards(row)), phase == "pirates"
    setup = turn in ("pirate", "hazard") or words.choice("to") == "setup"
    between = setup or turn in ("choose", "won")
    fight_words = [name for name in ("free", "uses", "lowered", "left", "right", "down") if name in words.values]
    if between:
        need(not fight_words, f"no fight at turn={turn}", ",".join(fight_words))
    if setup:
        need(not pirates and (words.values.get("hazards") or turn == "pirate"), "hazards to come", phase)
        need(active <= (turn == "hazard"), "fewer hazards revealed", active)
        need(not words.sequence("beaten"), "no pirate beaten", "some")
        need(
            turn != "pirate" or ("hazards" in words.values and "aging" in words.values), "all piles at the start", turn
        )
    elif turn == "choose":
        single = active == 1 and "hazards" not in words.values
        fresh = not fought and not words.sequence("beaten") and not active and "hazards" not in words.values
        need(
            fresh if pirates else active == 2 or single,
            "two hazards, the last one, or two pirates to choose from",
            active,
        )
    elif turn == "won":
        need(len(words.sequence("beaten")) == 2 and not active, "both pirates beaten", words.values.get("beaten"))
    elif turn == "remove":
        strange = [name for name in fight_words if name != "left"] + ["used or doubled cards"] * any(
            used or by for _, _, used, by in table_cards(row)
        )
        need(
            not pirates and not active and not strange,
            "cards on the left alone at turn=remove",
            ",".join(strange) or phase,
        )
    else:
        need(active == (not pirates) and fought == pirates, "one hazard or pirate that is fought", f"turn={turn}")
        need(not pirates or "hazards" not in words.values, "no hazards to come in phase=pirates", "some")
    check_ability(row, words, turn, T)
    need(not pirates or turn in ("won", "lost") or len(words.sequence("beaten")) < 2, "a pirate left to beat", table)
    if turn in CHANCE:
        at_work = turn != "aging" or (not int(row[at.STACK]) or words.choice("to") == "setup")
        need(at_work, "an empty stack at turn=aging", words.values.get("stack"))
        need(int(open_outcomes(row[None], ROW, T)), "something that chance can pick", turn)
    elif turn not in ("won", "lost"):
        room = np.zeros(len(at.ACTIONS), dtype=np.int64)
        need(legal_actions(row[None], ROW, room, T), "a position with a legal action", turn)


def check_ability(row: NDArray[np.uint64], words: Words, turn: str, T: Tables) -> None:
    """Checks the ability under way against the turn."""
    ability, steps, looked = words.choice("ability"), words.number("steps"), len(words.sequence("look"))
    acting, to = words.acting(), words.choice("to")
    need(bool(ability) or turn not in ABILITY_TURNS, f"an ability at turn={turn}", "none")
    need(
        not ability or turn in ABILITY_TURNS or (turn in ("aging", "card") and to != "setup"),
        f"no ability at turn={turn}",
        ability,
    )
    if not ability:
        need(not steps and to != "look", "steps and cards looked at with an ability only", steps)
        return
    amount = 2 if acting is None or CARDS[acting[0]].ability == COPY else CARDS[acting[0]].amount
    drawn = int(row[at.STACK]) or words.cards("aging") or (T.reshuffle_only and words.cards("discard"))
    turns = {
        "target": {"exchange": (1, amount), "exchange-again": (1, 1)}
        | dict.fromkeys(("copy", "destroy", "double", "below"), (0, 0)),
        "offer": {"draw": (1, amount - 1), "sort": (0, 0), "below": (0, 0)},
        "arrange": {"sort": (0, 0)},
        "order": {"sort": (0, 0)},
    }.get(
        turn,
        {
            "draw": (0, amount - 1),
            "exchange": (0, amount - 1),
            "exchange-again": (0, 0),
            "below": (0, 0),
            "sort": (0, 0),
        },
    )
    low, high = turns.get(ability, (1, 0))
    need(
        low <= steps <= high, f"an ability of so many steps that may be under way at turn={turn}", f"{ability} {steps}"
    )
    need(turn != "offer" or drawn, "a card to draw", "none")
    if ability == "sort":
        least, most = {"offer": (1, 2), "arrange": (1, 3), "order": (2, 3)}.get(turn, (0, 2))
        need(least <= looked <= most, f"{least} to {most} cards looked at", looked)
        need(turn != "order" or len(set(words.sequence("look"))) > 1, "cards whose order matters", "equal ones")
    places = {"draw": ("right",), "sort": ("look",), "below": ("left",)}.get(ability, ("left", "right"))
    need(not to or to in places, f"to among {', '.join(places)}", to)
