"""Defaults from the environment, from ``attnlens.toml``, and from the user's own file.

Options win over ``ATTNLENS_*`` variables, which win over ``attnlens.toml`` in the current
folder, which wins over the user's `own_file`, which wins over the built-in defaults. A variable
is named after the long option: ``--model`` is ``ATTNLENS_MODEL``. In a file, keys stand at the
top level or in a table named after the command::

    model = "measured"

    [predict]
    history = "t20s_male_json.zip"

Whoever wrote the current folder wrote its file, so that may set only what `LOCAL` lists, and what
it sets is said on stderr. Variables and the user's own file may set everything.
"""

from __future__ import annotations

import argparse
import os
import stat
from collections.abc import Mapping, Sequence
from typing import Any

from attnlens.cli.output import say
from attnlens.cli.parser import Parser, is_flag
from attnlens.errors import InputError
from attnlens.files import is_ours, read_whole

Settings = dict[str, Any]
"""What a TOML file holds."""

FILE = "attnlens.toml"
PREFIX = "ATTNLENS_"
YES, NO = ("1", "true", "yes"), ("0", "false", "no")
LOCAL = frozenset(
    """
    all ball balls baselines batch batter bowler claims columns d_ff decoder_layers device
    encoder_layers epochs evidence follow format from full head head_balls hidden_dim history idle
    innings kind leading learning_rate matches matches_per_part messages model no_browser no_cache
    no_evidence on_error outcome over overs_model query quick references scale seed separator set
    site strength strict temperature threads top top_k train_until until validate_until wide width
    """.split()  # noqa: SIM905
)
"""Settings that a file in the current folder may hold: figures, choices, names of players, and
checkpoints and matches to read. A new option is not among them until it is put here. What writes
or deletes a file, names a host or what is sent to it, opens a port, starts processes, or loosens a
safeguard, never is."""

MOST = 1 << 16
"""Bytes of a file of settings."""


def apply_settings(parser: Parser, words: Sequence[str]) -> None:
    """Set the defaults of the command that ``words`` name from the environment and the files.

    Raises:
        InputError: a file is not TOML or may be another user's, a name in it is no setting or may
            not stand there, or a value does not fit its option.
    """
    commands = parser.commands
    command, *rest = [word for word in words if not word.startswith("-")] or [""]
    if command not in commands:
        return
    own = own_file()
    if os.path.isfile(own) and not is_ours(os.stat(own), stat.S_IWOTH):
        remedy = "make it yours, and let nobody else write to it"
        raise InputError("may have been written by another user", path=own, remedy=remedy)
    inner = commands[command].commands  # of a group, such as text
    asked = next((inner[word] for word in rest if word in inner), commands[command])
    local, mine = (_settings_in(path, command, commands) for path in (FILE, own))
    given = {action.dest for action in asked.taken if _is_given(action, words)}
    told = []
    for name, action in asked.options.items():
        variable = PREFIX + name.upper()
        if variable in os.environ:
            value, place = os.environ[variable], variable
        elif name in local:
            value, place = local[name], FILE
            told += [] if action.dest in given else [name]
            if str(value).startswith((r"\\", "//")):
                raise InputError(f"{name!r} leads to another machine", path=FILE, remedy="copy it")
        elif name in mine:
            value, place = mine[name], own
        else:
            continue
        action.default = _value(action, value, place)
        action.required = False
    if told:
        say(f"./{FILE} sets {', '.join(told)}")


def own_file() -> str:
    """Where the user's own settings are, and which may set everything."""
    given = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("APPDATA") or ""
    folder = given if os.path.isabs(given) else os.path.expanduser("~/.config")
    return os.path.join(folder, "attnlens", "settings.toml")


def _is_given(action: argparse.Action, words: Sequence[str]) -> bool:
    return any(word.partition("=")[0] in action.option_strings for word in words)


def _settings_in(path: str, command: str, commands: Mapping[str, Parser]) -> Settings:
    """What a file sets for a command."""
    file = _read(path)
    _check_names(file, path, commands)
    tables = {name: file.pop(name) for name in commands if isinstance(file.get(name), dict)}
    here: Settings = tables.get(command, {})
    return {**file, **here}


def _check_names(file: Settings, path: str, commands: Mapping[str, Parser]) -> None:
    """Refuse what may not stand in a file, and a misspelt setting, which would do nothing."""
    known = {
        name: set(command.options).union(*(below.options for below in command.commands.values()))
        for name, command in commands.items()
    }
    anywhere = set().union(*known.values())
    for name, value in file.items():
        if name in commands and isinstance(value, dict):
            names, fits, place = sorted(value), known[name], f"in [{name}] "
        else:
            names, fits, place = [name], anywhere, ""
        allowed = fits & LOCAL if path == FILE else fits
        for one in names:
            if one in allowed:
                continue
            problem = f"{place}{one!r} is no setting"
            remedy = f"known: {', '.join(sorted(allowed))}"
            if one in fits:
                problem = f"{place}{one!r} may not be set by a file in the current folder"
                remedy = f"give --{one.replace('_', '-')}, or set {PREFIX}{one.upper()}"
            raise InputError(problem, path=path, remedy=remedy)


def _read(path: str) -> Settings:
    if not os.path.isfile(path):
        return {}
    import tomllib

    content = read_whole(path, MOST, remedy="mend or remove it")
    try:
        return tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"is not TOML ({error})", path=path, remedy="mend or remove it") from None


def _value(action: argparse.Action, value: Any, place: str) -> Any:
    """A setting as its option would have it."""

    def unfit(remedy: str) -> InputError:
        problem = f"{value!r} does not fit {action.option_strings[-1]}"
        return InputError(problem, path=place, remedy=remedy)

    if isinstance(value, dict | list):
        raise unfit("give one value, no table or list")
    if is_flag(action):
        text = str(value).lower()
        if text not in (*YES, *NO):
            raise unfit("say true or false")
        return action.const if text in YES else not action.const
    convert = action.type if callable(action.type) else str
    try:
        result = convert(str(value))
    except argparse.ArgumentTypeError as error:
        raise unfit(str(error)) from None
    except ValueError:
        raise unfit("give a number") from None
    if action.choices is not None and result not in action.choices:
        raise unfit(f"use {', '.join(map(str, action.choices))}")
    return result
