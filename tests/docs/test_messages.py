"""The lines that people get for wrong input, in one voice. `python tests/docs/test_messages.py` prints all of them, to be read."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
VOICE = {
    "begins with a capital": r"^[A-Z][a-z]",
    "ends with a stop": r"(?<!\.\.)[.!]$",
    "has two lines": r"\n",
    "has two sentences": r"[a-z)}][.!] [A-Z]",
    "pleads": r"\b([Pp]lease|[Ss]orry|[Oo]ops)\b",
}
"""What no line is: a fault, and the sign that tells it."""
ROOMS = ("envs", "search", "models", "training", "experiments", "src")


def text_of(node: ast.expr) -> str:
    """Returns a text as it stands in the source, each value in it as its expression in braces; "" for what is no text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else text_of(part)
            for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return text_of(node.left) + text_of(node.right)
    return ""


def messages() -> Iterator[tuple[str, str]]:
    """Yields where in the sources a line for people stands, and the line."""
    command = ["git", "ls-files", *(f"{room}/*.py" for room in ROOMS)]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(lambda name: (ROOT / name).exists(), listed.splitlines()):
        for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.func, ast.Name):
                continue
            if node.func.id in ("UserError", "input") and (text := text_of(node.args[0])):
                yield f"{name} line {node.lineno}", text


def faults(text: str) -> list[str]:
    """Returns what keeps a line from being said in the house's voice."""
    return [fault for fault, sign in VOICE.items() if re.search(sign, text)]


def test_lines_for_people_are_in_one_voice() -> None:
    found = list(messages())
    assert len(found) > 600
    assert [(place, text, faults(text)) for place, text in found if faults(text)] == []


def test_the_test_sees_faults() -> None:
    assert faults("Please give a name.") == ["begins with a capital", "ends with a stop", "pleads"]
    assert faults("expected a name. Got none") == ["has two sentences"]
    assert faults("pig: expected a target of 10 to 1,000, got 5; see --help") == []


if __name__ == "__main__":
    print("\n".join(f"{text}    ({place})" for place, text in messages()))
