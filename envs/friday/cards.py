"""The cards of Friday as data: kinds of fighting cards, hazards and pirates.

A kind is a set of cards with the same rules. Its name is that of its first card in the order of the printed lists: S starting
cards, W E F N C knowledge cards (named after their hazard: wreck, exploring, further, animals, cannibals), G and D normal and
difficult aging cards. A knowledge card and the hazard on its other half have the same name.
"""

from __future__ import annotations

from typing import NamedTuple

ABILITIES = ("none", "life", "draw", "exchange", "copy", "destroy", "double", "below", "phase", "sort")
NONE, LIFE, DRAW, EXCHANGE, COPY, DESTROY, DOUBLE, BELOW, PHASE, SORT = range(10)


class Card(NamedTuple):
    """A kind of fighting card."""

    name: str
    title: str
    value: int
    ability: int = NONE
    amount: int = 0
    """Life gained, cards drawn or cards exchanged."""
    copies: int = 1
    hunger: int = 0
    """Life to pay at the end of a fight (aging cards)."""
    scared: bool = False
    """Whether it sets the highest card to 0."""
    stop: bool = False
    """Whether it ends the free draws while it is on the left."""

    @property
    def words(self) -> str:
        """The effect of the card in words; "" for none."""
        if self.scared:
            return "highest card = 0"
        if self.stop:
            return "stop"
        if self.hunger:
            return f"-{self.hunger} life"
        return {
            LIFE: f"+{self.amount} life",
            DRAW: f"+{self.amount} card" + "s" * (self.amount > 1),
            EXCHANGE: f"{self.amount}x exchange",
            COPY: "copy",
            DESTROY: "destroy",
            DOUBLE: "double",
            BELOW: "below the pile",
            PHASE: "phase -1",
            SORT: "sort 3 cards",
        }.get(self.ability, "")


STARTING = (
    Card("S1", "distracted", -1, copies=5),
    Card("S2", "weak", 0, copies=8),
    Card("S3", "focused", 1, copies=3),
    Card("S4", "genius", 2),
    Card("S5", "eating", 0, LIFE, 2),
)
KNOWLEDGE = (
    Card("W1", "food", 0, LIFE, 1, copies=2),
    Card("W3", "equipment", 0, DRAW, 2, copies=2),
    Card("W5", "strategy", 0, EXCHANGE, 2, copies=2),
    Card("W7", "mimicry", 0, COPY),
    Card("W8", "realization", 0, DESTROY),
    Card("W9", "books", 0, PHASE),
    Card("W10", "deception", 0, BELOW),
    Card("E1", "food", 1, LIFE, 1, copies=2),
    Card("E3", "weapon", 2, copies=2),
    Card("E5", "mimicry", 1, COPY),
    Card("E6", "realization", 1, DESTROY),
    Card("E7", "repeat", 1, DOUBLE),
    Card("E8", "deception", 1, BELOW),
    Card("F1", "food", 2, LIFE, 1),
    Card("F2", "realization", 2, DESTROY),
    Card("F3", "experience", 2, DRAW, 1),
    Card("F4", "vision", 2, SORT),
    Card("F5", "repeat", 2, DOUBLE),
    Card("F6", "strategy", 2, EXCHANGE, 1),
    Card("N1", "realization", 3, DESTROY),
    Card("N2", "strategy", 3, EXCHANGE, 1),
    Card("N3", "vision", 3, SORT),
    Card("N4", "experience", 3, DRAW, 1),
    Card("C1", "weapon", 4, copies=2),
)
AGING = (
    Card("G1", "distracted", -1),
    Card("G2", "stupid", -2, copies=2),
    Card("G4", "very stupid", -3),
    Card("G5", "scared", 0, copies=2, scared=True),
    Card("G7", "hungry", 0, hunger=1),
    Card("G8", "very tired", 0, stop=True),
    Card("D1", "very hungry", 0, hunger=2),
    Card("D2", "moronic", -4),
    Card("D3", "suicidal", -5),
)
CARDS = STARTING + KNOWLEDGE + AGING
KINDS = len(CARDS)
FIRST_KNOWLEDGE = len(STARTING)
FIRST_AGING = FIRST_KNOWLEDGE + len(KNOWLEDGE)
FIRST_DIFFICULT = KINDS - 3
NAMES = tuple(card.name for card in CARDS)
KIND = {name: k for k, name in enumerate(NAMES)}
VERY_STUPID = KIND["G4"]
"""Only used at levels 3 and 4."""
STOP = KIND["G8"]

DOUBLERS = ("E7", "F5", "W7", "E5")
"""Cards that can double another, by their own ability or a copied one; one of each in the game."""
LOWERERS = ("W9", "W7", "E5")
"""Cards that can lower the phase; one of each in the game."""


class Hazard(NamedTuple):
    """The hazard half of the knowledge cards whose names begin with a letter."""

    title: str
    free: int
    """Cards drawn for free."""
    values: tuple[int, int, int]
    """Hazard value in the green, yellow and red phase."""


HAZARDS = {
    "W": Hazard("With the raft to the wreck", 1, (0, 1, 3)),
    "E": Hazard("Exploring the island", 2, (1, 3, 6)),
    "F": Hazard("Further exploring the island", 3, (2, 5, 8)),
    "N": Hazard("Wild animals", 4, (4, 7, 11)),
    "C": Hazard("Cannibals", 5, (5, 9, 14)),
}


class Pirate(NamedTuple):
    """A pirate: free cards and hazard value as printed, and its special rule."""

    free: int
    value: int
    words: str = ""


PIRATES = (
    Pirate(5, 0, "value 2 x aging cards drawn"),
    Pirate(6, 20),
    Pirate(7, 25),
    Pirate(7, 16, "paid cards cost 2 life"),
    Pirate(8, 30),
    Pirate(9, 35),
    Pirate(9, 22, "half of the cards count"),
    Pirate(10, 52, "total +1 per card"),
    Pirate(10, 40),
    Pirate(0, 0, "all unbeaten hazards at once"),
)
"""Pirates 1 to 10."""
AGED, COSTLY, HALF, CROWD, REST = 1, 4, 7, 8, 10
"""Numbers of the pirates with special rules."""

PHASES = ("green", "yellow", "red", "pirates")

WEIGHTS = {
    LIFE: (0, 2, 3),
    DRAW: (0, 2, 3),
    EXCHANGE: (0, 2, 3),
    COPY: (2,),
    DESTROY: (3,),
    DOUBLE: (3,),
    BELOW: (1,),
    PHASE: (3,),
    SORT: (1,),
}
"""What abilities add to a card's rating in the source's evaluation, by their amount."""


def rating(card: Card) -> int:
    """Returns a card's printed value plus the weight of its ability."""
    weight = WEIGHTS[card.ability][card.amount] if card.ability else 0
    return card.value + weight - card.hunger - 3 * (card.scared or card.stop)
