"""Prints a script for a shell to complete commands, games, players, models and options with the Tab key."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass

import tyro

from leafwise.cli import Report, command, flag_of, option_flags
from leafwise.envs.core.errors import UserError
from leafwise.envs.registry import games, option_defaults

ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"
"""Lets zsh read a completion of bash."""
BASH = """_leafwise() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words="{players}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{names}"
  elif [ "${{current#-}}" != "$current" ]; then
    case "${{COMP_WORDS[1]}}" in
{options}
    esac
    case "${{COMP_WORDS[2]}}" in
{games}
    esac
  elif [ "$COMP_CWORD" -eq 2 ]; then
    case "${{COMP_WORDS[1]}}" in
{first}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _leafwise leafwise"""
FISH = """function __leafwise
  set -l words (commandline -opc) ""
  switch (count $words)
    case 2
      string split " " "{names}"
    case 3
      switch $words[2]
{first}
      end
    case "*"
      string split " " "{players}"
  end
  if string match -q -- "-*" (commandline -ct)
    switch $words[2]
{options}
    end
    switch $words[3]
{games}
    end
  end
end
complete -c leafwise -a "(__leafwise)\""""
POWERSHELL = """Register-ArgumentCompleter -Native -CommandName leafwise -ScriptBlock {{
  param($word, $line, $cursor)
  $typed = @($line.CommandElements | ForEach-Object {{ "$_" }})
  $before = $typed.Count - [int][bool]$word
  $words = '{players}'
  if ($before -eq 1) {{ $words = '{names}' }}
  elseif ($word -like '-*') {{
    $words = switch ($typed[1]) {{
{options}
    }}
    $words = "$words " + $(switch ($typed[2]) {{
{games}
    }})
  }} elseif ($before -eq 2) {{
    $words = switch ($typed[1]) {{
{first}
    }}
  }}
  -split $words | Where-Object {{ $_ -like "$word*" }}
}}"""
SHELLS = {
    "bash": (BASH, "    {}) words='{}' ;;", "    {}) words+=' {}' ;;"),
    "zsh": (ZSH.replace("{", "{{") + BASH, "    {}) words='{}' ;;", "    {}) words+=' {}' ;;"),
    "fish": (FISH, *["      case {}\n        string split ' ' -- '{}'"] * 2),
    "powershell": (POWERSHELL, *["      '{}' {{ '{}' }}"] * 2),
}
"""Shell -> its script, the line for the words after a command, and the line that adds a game's words."""
PLAYERS = "random greedy best solver search:learned,depth=2"
"""Players that exist in many games; file names are completed too."""


@dataclass(frozen=True)
class Config:
    """Prints a script that completes `leafwise` in a shell: commands, games, players, models, options of commands and games.

    Add one of these lines to the file that the shell reads when it starts:
      ~/.bashrc: eval "$(leafwise completion bash)"
      ~/.zshrc: eval "$(leafwise completion zsh)"
      ~/.config/fish/config.fish: leafwise completion fish | source
      $PROFILE: leafwise completion powershell | Out-String | iex

    Examples:
      leafwise completion bash
      leafwise completion fish
    """

    shell: tyro.conf.Positional[str]
    """bash, zsh, fish or powershell."""


@command(Config)
def main(config: Config) -> Iterator[Report]:
    """Runs the command."""
    from leafwise.__main__ import command_names
    from leafwise.commands.models import weights

    if config.shell not in SHELLS:
        raise UserError(f"expected a shell among {', '.join(SHELLS)}, got {config.shell!r}")
    script, line, more = SHELLS[config.shell]
    names, models = command_names(), sorted(path.stem for path in weights().glob("*.safetensors"))
    options, first = [], []
    for name in names:
        module = importlib.import_module(f"leafwise.commands.{name}")
        config_class = getattr(module, "Config", None)
        flags = option_flags(config_class) if config_class else []
        options.append(line.format(name, " ".join([*flags, "--help"])))
        takes_game = config_class is None or "game" in config_class.__dataclass_fields__
        words = {"models": models, "completion": list(SHELLS)}.get(name, list(games()) if takes_game else [])
        first.append(line.format(name, " ".join(words)))
    of_games = [more.format(game, " ".join(map(flag_of, option_defaults(game)))) for game in games()]
    yield script.format(
        players=PLAYERS,
        names=" ".join(names),
        options="\n".join(options),
        games="\n".join(of_games),
        first="\n".join(first),
    )
