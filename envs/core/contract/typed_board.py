"""Boards as people type them: in lines or with '/', with spaces, commas or bars, numbered, as lists, and as NumPy prints them.

A game names its symbols; the shapes are the same for all. A text that can be read in two ways is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from leafwise.envs.core.errors import UserError

Alphabet = Mapping[str, int]
"""What may be typed for a cell -> its number; capitals count as small letters where they have no number of their own."""
Row = list[str]

BLANK = " "
EMPTY = (".", "-", "_", BLANK)
"""What is typed for an empty cell besides a game's own symbol."""
MOST = 4000
"""Letters of the longest text that is looked at."""
SEPARATORS = re.compile(r"[\s,|:│]+")
RULE = re.compile(r"[\s+=_|─━│┼├┤┌┐└┘┬┴-]*[+=_─━-][\s+=_|─━│┼├┤┌┐└┘┬┴-]*")
"""A line that is drawn between the rows of a board."""
SEQUENCES = ("0123456789", "123456789", "abcdefghij")
"""How rows and columns are numbered."""
FLOAT = re.compile(r"(-?\d+)\.0*")


def typed_cells(text: str, lengths: Sequence[int], alphabets: Sequence[Alphabet]) -> list[int] | None:
    """Returns the number of each cell, row after row of these lengths; None where the text is no such board.

    Raises ValueError for a text that can be read in two ways.
    """
    if len(text) > MOST:
        return None
    found = {
        tuple(cells)
        for rows in typed_rows(text, lengths)
        for cut, by_letter in readings(rows)
        for alphabet in alphabets
        if not by_letter or max(map(len, alphabet)) == 1
        if (cells := numbers(cut, lengths, alphabet)) is not None
    }
    if len(found) > 1:
        raise UserError(f"expected a board that can be read in one way, got {text[:80]!r}")
    return list(found.pop()) if found else None


def typed_rows(text: str, lengths: Sequence[int]) -> Iterator[list[str] | list[Row]]:
    """Yields what may be the rows of a board: texts, or lists of cells; lines between rows and above columns are left out."""
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
    text = re.sub(r",\s*\]", "]", text)  # as in a tuple of one
    cells = json_cells(text)
    if cells is not None:
        yield from folded(cells, lengths)
        return
    inner = re.findall(r"\[([^\[\]]*)\]", text)
    if re.sub(r"\[[^\[\]]*\]|[\[\],\s]", "", text) or text.count("[") != text.count("]"):
        return
    words = [[FLOAT.sub(r"\1", word) for word in SEPARATORS.split(row) if word] for row in inner]
    yield from folded(words if len(words) > 1 else words[0] if words else [], lengths)


def json_cells(text: str) -> list[Any] | None:
    """Returns the lists that a text is, None if it is none."""
    try:
        found = json.loads(text.replace("'", '"'))
    except (ValueError, RecursionError):
        return None
    while isinstance(found, list) and len(found) == 1 and isinstance(found[0], list):
        found = found[0]
    return found if isinstance(found, list) else None


def folded(cells: list[Any], lengths: Sequence[int]) -> Iterator[list[str] | list[Row]]:
    """Yields lists of cells as rows of these lengths; a flat list is cut into rows."""
    if len(cells) == len(lengths) and all(isinstance(row, list) for row in cells):
        yield [[as_symbol(cell) for cell in row] for row in cells]
    elif any(isinstance(cell, list) for cell in cells):
        return
    elif len(cells) == len(lengths):
        yield [str(row) for row in cells]
    elif len(cells) == sum(lengths):
        rest = iter(cells)
        yield [[as_symbol(next(rest)) for _ in range(n)] for n in lengths]


def as_symbol(cell: Any) -> str:
    """Returns a cell of a list as it would be typed."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip() or BLANK if cell is not None else BLANK


def is_numbering(line: str) -> bool:
    """Whether a line numbers the columns of a board."""
    return numbered(SEPARATORS.sub(" ", line).split()) or numbered(list(SEPARATORS.sub("", line)))


def numbered(words: Sequence[str]) -> bool:
    """Whether words number rows or columns, in either direction."""
    joined = "".join(words).lower()
    alone = len(words) > 1 and all(len(word) == 1 for word in words)
    return alone and any(sequence.startswith((joined, joined[::-1])) for sequence in SEQUENCES)


def readings(rows: list[str] | list[Row]) -> Iterator[tuple[list[Row], bool]]:
    """Yields what may be the cells of rows, and whether each is one letter: cut at separators, letter by letter, between bars or
    commas; numbers beside rows are left out."""
    for cut, by_letter in cuts(rows):
        yield cut, by_letter
        for front, back in ((1, 0), (0, 1), (1, 1)):
            beside = [[row[k] for row in cut if row] for k in (0,) * front + (-1,) * back]
            if all(map(numbered, beside)):
                yield [row[front : len(row) - back] for row in cut], by_letter


def cuts(rows: list[str] | list[Row]) -> Iterator[tuple[list[Row], bool]]:
    """Yields the cells of rows in the ways in which they may be written, numbers beside them included."""
    if any(isinstance(row, list) for row in rows):
        yield [list(row) for row in rows], False
        return
    texts = [str(row) for row in rows]
    yield [[word for word in SEPARATORS.split(row) if word] for row in texts], False
    yield [list(SEPARATORS.sub("", row)) for row in texts], True
    for bar in "|,":
        if all(bar in row for row in texts):
            yield [between(row, bar) for row in texts], False
    if not re.search(r"[,|:._\t-]", "".join(texts)):  # blanks are empty cells where nothing else is
        yield [list(row) for row in texts], True


def between(row: str, bar: str) -> Row:
    """Returns the cells between the bars of a row, BLANK where nothing stands."""
    inside = row.strip()
    inside = inside.removeprefix(bar).removesuffix(bar) if bar == "|" else inside
    return [cell.strip() or BLANK for cell in inside.split(bar)]


def numbers(rows: Sequence[Row], lengths: Sequence[int], alphabet: Alphabet) -> list[int] | None:
    """Returns the number of each cell of rows of these lengths, None where they have others, or a cell means nothing."""
    if [len(row) for row in rows] != list(lengths):
        return None
    found = [alphabet.get(cell, alphabet.get(cell.lower(), -1)) for row in rows for cell in row]
    return None if -1 in found else found


def before_fields(text: str, bare: Sequence[str]) -> tuple[str, list[str]]:
    """Returns a text's board, lines kept, and the words after it: from the first with `=`, or among `bare`, on."""
    for word in re.finditer(r"\S+", text):
        if ("=" in word[0] and not word[0].startswith("dtype=")) or word[0] in bare:
            return text[: word.start()], text[word.start() :].split()
    return text, []
