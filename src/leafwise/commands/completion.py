"""Prints what a shell needs to complete commands, games and options with the Tab key."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass

import tyro

from leafwise.cli import Report, command, option_flags
from leafwise.envs.core.errors import UserError
from leafwise.envs.registry import games

ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"
"""What lets zsh read a completion of bash."""
SHELLS = {"bash": "", "zsh": ZSH}
"""Shell -> the lines that it needs first."""


@dataclass(frozen=True)
class Config:
    """Prints a script that completes `leafwise` in a shell: commands, games, a command's options, else files.

    In ~/.bashrc: eval "$(leafwise completion bash)". In ~/.zshrc: eval "$(leafwise completion zsh)".

    Examples:
      leafwise completion bash
    """

    shell: tyro.conf.Positional[str]
    """bash or zsh."""


@command(Config)
def main(config: Config) -> Iterator[Report]:
    """Runs the command."""
    from leafwise.__main__ import command_names

    if config.shell not in SHELLS:
        raise UserError(f"expected a shell among {', '.join(SHELLS)}, got {config.shell!r}")
    names = command_names()
    cases = []
    for name in names:
        options = getattr(importlib.import_module(f"leafwise.commands.{name}"), "Config", None)
        cases.append(f"    {name}) words='{' '.join(option_flags(options)) if options else ''} --help' ;;")
    yield SHELLS[config.shell] + "\n".join(
        [
            "_leafwise() {",
            '  local current="${COMP_WORDS[COMP_CWORD]}" words=""',
            '  if [ "$COMP_CWORD" -eq 1 ]; then',
            f"    words='{' '.join(names)}'",
            '  elif [ "${current#-}" != "$current" ]; then',
            '    case "${COMP_WORDS[1]}" in',
            *cases,
            "    esac",
            '  elif [ "$COMP_CWORD" -eq 2 ]; then',
            f"    words='{' '.join(games())}'",
            "  fi",
            '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
            "}",
            "complete -o default -F _leafwise leafwise",
        ]
    )
