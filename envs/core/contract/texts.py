"""Reads positions as people type them: words `name=value`, whole numbers, and boards of cells; refuses others in one line.

A game's `text.parse` is made of these; `Game.parse` adds the game's name to a refusal. A board may be typed in lines or with
'/', with spaces, commas or bars, numbered, as a list, and as NumPy prints it. A game names its symbols; the shapes are the same
for all. A text that can be read in two ways is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Array, Words
from leafwise.envs.core.errors import UserError

Alphabet = Mapping[str, int]
"""The text of a cell -> its number; capitals count as small letters unless they have a number of their own."""
Row = list[str]

BLANK = " "
EMPTY = (".", "-", "_", BLANK)
"""Texts for an empty cell besides the game's own symbol."""
MOST = 4000
"""Letters of the longest text that is read."""
SEPARATORS = re.compile(r"[\s,|:│]+")
RULE = re.compile(r"[\s+=_|─━│┼├┤┌┐└┘┬┴-]*[+=_─━-][\s+=_|─━│┼├┤┌┐└┘┬┴-]*")
"""A line drawn between the rows of a board."""
SEQUENCES = ("0123456789", "123456789", "abcdefghij")
"""Numberings of rows and columns."""
FLOAT = re.compile(r"^(-?\d+)\.0*$")
QUOTES = "'\""
LISTED = re.compile(r"""'[^']*'|"[^"]*"|[^\s,|:│'"]+""")
"""A cell, or a text of cells, in a list."""
SIDES = ".xo"
"""Marks on boards for two players: empty, the first player's, the second's."""
SIDES_BY_NUMBER: tuple[Alphabet, ...] = ({"0": 0, "1": 1, "2": 2}, {"0": 0, "1": 1, "-1": 2})
"""Numbers for these marks in arrays."""


# Words, numbers, and boards of marks.


def need(ok: object, expected: str, got: object = None, text: str | None = None) -> None:
    """Raises ValueError, `expected ..., got ...`, unless `ok`; `got` is what came (None: nothing), in `text`."""
    if not ok:
        offender = "none" if got is None else repr(got[:80] if isinstance(got, str) else got)
        raise UserError(f"expected {expected}, got {offender}" + ("" if text is None else f" in {text!r}"))


def whole_number(word: str, what: str, digits: int = 6) -> int:
    """Returns a whole number with at most `digits` digits; raises ValueError for anything else."""
    need(word.isascii() and word.isdigit() and len(word) <= digits, f"{what} as a whole number", word)
    return int(word)


def words_by_name(words: Iterable[str], names: Collection[str]) -> dict[str, str]:
    """Returns the values of words `name=value`; raises ValueError for an unknown or repeated name."""
    values: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        need(equals and name in names and name not in values, f"fields among {', '.join(names)}, each once", word[:40])
        values[name] = value
    return values


def write_words(row: Array, T: Any) -> str:
    """Returns the words of a row as hexadecimal numbers."""
    return " ".join(f"{int(word):x}" for word in row)


def parse_words(text: str, T: Any) -> Array:
    """Returns the row that `write_words` wrote, of any length; raises ValueError for another text."""
    words = text.split()
    need(words and all(re.fullmatch(r"-?[0-9a-f]{1,16}", word) for word in words), "hexadecimal numbers", text)
    return np.array([int(word, 16) for word in words], dtype=object)


def written(words: dict[str, Any]) -> str:
    """Returns `name=value` for every word with a value, the inverse of `words_by_name`."""
    return " ".join(f"{name}={value}" for name, value in words.items() if value)


def marked(
    text: str, lengths: Sequence[int], marks: str, shape: str, what: str, also: Sequence[Alphabet] = SIDES_BY_NUMBER
) -> list[int]:
    """Returns the index in `marks` of each cell, row by row, from rows separated by '/'; the first mark is the empty cell.

    Boards in the other shapes that `typed_cells` reads are accepted too, also in the symbols of `also`. `shape` and `what`
    describe rows and cells in a refusal.
    """
    rows = text.strip().split("/")
    fits, cells = [len(row) for row in rows] == list(lengths), "".join(rows)
    if not fits or not set(cells) <= set(marks):
        alphabet = {**dict.fromkeys(EMPTY, 0), **{mark: k for k, mark in enumerate(marks)}}
        typed = typed_cells(text, lengths, (alphabet, *also))
        if typed is not None:
            return typed
    need(fits, f"{shape} separated by '/'", text)
    for mark in cells:
        need(mark in marks, f"{what} among {', '.join(map(repr, marks))}", mark, text)
    return [marks.index(mark) for mark in cells]


def last_player(sides: Words, loose: int, holds: Callable[[Any], bool], figure: str, closing: str, text: str) -> int:
    """Returns who marked last on a board where a figure of marks ends the game; raises ValueError for an impossible board.

    `sides` [2] are the players' marks as bits (uint64), and `loose` those of them that may have come last. `holds` tells
    whether marks contain a figure. `figure` and `closing` name the figure, and what closes it, in a refusal.
    """
    first, second = (int(side).bit_count() for side in sides)
    if first - second not in (0, 1):
        raise UserError(f"expected as many x as o, or one more, got {first} x and {second} o in {text!r}")
    last = 0 if first > second else 1
    need(not holds(sides[1 - last]), f"no move after a {figure} of {SIDES[2 - last]}", text)
    candidates = [1 << bit for bit in range(64) if int(sides[last]) & loose & 1 << bit]
    sound = not holds(sides[last]) or any(not holds(sides[last] ^ np.uint64(mark)) for mark in candidates)
    need(sound, f"one last {closing} every {figure}", text)
    return last


# Boards in all the shapes that people type.


def typed_cells(text: str, lengths: Sequence[int], alphabets: Sequence[Alphabet]) -> list[int] | None:
    """Returns the numbers of the cells that a text shows, row by row; None if the text is not a board with rows of these lengths.

    Raises ValueError for a text that can be read in two ways.
    """
    if len(text) > MOST:
        return None
    boards = {
        tuple(cells)
        for rows in typed_rows(text, lengths)
        for cut, by_letter in readings(rows)
        for alphabet in alphabets
        if not by_letter or max(map(len, alphabet)) == 1
        if (cells := numbers(cut, lengths, alphabet)) is not None
    }
    if len(boards) > 1:
        raise UserError(f"expected a board that can be read in one way, got {text[:80]!r}")
    return list(boards.pop()) if boards else None


def typed_rows(text: str, lengths: Sequence[int]) -> Iterator[list[str] | list[Row]]:
    """Yields possible rows of a board, as texts or lists of cells, without lines between rows and numbers above columns."""
    text = text.replace("\\n", "\n").replace("\r", "")
    if re.search(r"[\[(]", text):
        yield from listed_rows(text, lengths)
        return
    lines = re.split(r"[/\n;]", text)
    filled = [line for line in lines if line.strip()]
    ruled = [line for line in filled if not RULE.fullmatch(line)]
    for rows, above, below in product((lines, filled, ruled), (0, 1), (0, 1)):
        kept = rows[above : len(rows) - below]
        if len(kept) == len(lengths) and all(map(is_numbering, rows[:above] + rows[len(rows) - below :])):
            yield kept


def listed_rows(text: str, lengths: Sequence[int]) -> Iterator[list[str] | list[Row]]:
    """Yields the rows of a board written as a list: nested, flat, or a text for each row."""
    text = re.sub(r"\b(?:np\.|numpy\.)?array\b|,\s*dtype\s*=\s*[\w.<>']+", "", text).translate(
        str.maketrans("()", "[]")
    )
    if re.sub(r"\[[^\[\]]*\]|[\[\],\s]", "", text) or text.count("[") != text.count("]"):
        return
    rows = [LISTED.findall(row) for row in re.findall(r"\[([^\[\]]*)\]", text)]
    if len(rows) == len(lengths):
        yield [list(map(as_symbol, row)) for row in rows]
    elif len(rows) == 1 and len(rows[0]) == len(lengths):
        yield [row.strip(QUOTES) for row in rows[0]]
    elif len(rows) == 1 and len(rows[0]) == sum(lengths):
        rest = map(as_symbol, rows[0])
        yield [list(islice(rest, n)) for n in lengths]


def as_symbol(cell: str) -> str:
    """Returns a cell of a list as it would be typed."""
    return BLANK if cell in ("None", "null") else FLOAT.sub(r"\1", cell.strip(QUOTES).strip()) or BLANK


def is_numbering(line: str) -> bool:
    """Whether a line numbers the columns of a board."""
    return numbered(SEPARATORS.sub(" ", line).split()) or numbered(list(SEPARATORS.sub("", line)))


def numbered(words: Sequence[str]) -> bool:
    """Whether words number rows or columns, in either direction."""
    joined = "".join(words).lower()
    alone = len(words) > 1 and all(len(word) == 1 for word in words)
    return alone and any(sequence.startswith((joined, joined[::-1])) for sequence in SEQUENCES)


def readings(rows: list[str] | list[Row]) -> Iterator[tuple[list[Row], bool]]:
    """Yields possible cells of rows, without numbers beside the rows, and whether each cell is one letter."""
    for cut, by_letter in cuts(rows):
        yield cut, by_letter
        for front, back in ((1, 0), (0, 1), (1, 1)):
            beside = [[row[k] for row in cut if row] for k in (0,) * front + (-1,) * back]
            if all(map(numbered, beside)):
                yield [row[front : len(row) - back] for row in cut], by_letter


def cuts(rows: list[str] | list[Row]) -> Iterator[tuple[list[Row], bool]]:
    """Yields the cells of rows in every way to split them: at separators, letter by letter, between bars or commas."""
    if any(isinstance(row, list) for row in rows):
        yield [list(row) for row in rows], False
        return
    texts = [str(row) for row in rows]
    yield [[word for word in SEPARATORS.split(row) if word] for row in texts], False
    yield [list(SEPARATORS.sub("", row)) for row in texts], True
    for bar in "|,":
        if all(bar in row for row in texts):
            yield [between(row, bar) for row in texts], False
    if not re.search(r"[,|:._\t-]", "".join(texts)):  # blanks are empty cells if nothing else is
        yield [list(row) for row in texts], True


def between(row: str, bar: str) -> Row:
    """Returns the cells between the bars of a row, BLANK for an empty one."""
    inside = row.strip()
    inside = inside.removeprefix(bar).removesuffix(bar) if bar == "|" else inside
    return [cell.strip() or BLANK for cell in inside.split(bar)]


def numbers(rows: Sequence[Row], lengths: Sequence[int], alphabet: Alphabet) -> list[int] | None:
    """Returns the number of each cell of rows of these lengths; None for other lengths, or an unknown cell."""
    if [len(row) for row in rows] != list(lengths):
        return None
    cells = [alphabet.get(cell, alphabet.get(cell.lower(), -1)) for row in rows for cell in row]
    return None if -1 in cells else cells


def before_fields(text: str, bare: Sequence[str]) -> tuple[str, list[str]]:
    """Returns the board of a text, with its lines, and the words after it: from the first with `=`, or in `bare`, on."""
    for word in re.finditer(r"\S+", text):
        if ("=" in word[0] and not word[0].startswith("dtype=")) or word[0] in bare:
            return text[: word.start()], text[word.start() :].split()
    return text, []
