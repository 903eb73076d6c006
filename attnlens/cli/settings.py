"""Defaults from the environment and from ``attnlens.toml``.

Options win over ``ATTNLENS_*`` variables, which win over ``attnlens.toml`` in the current
folder, which wins over the built-in defaults. A variable is named after the long option:
``--model`` is ``ATTNLENS_MODEL``. In the file, keys stand at the top level or in a table
named after the command::

    model = "measured"

    [predict]
    history = "t20s_male_json.zip"
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

from attnlens.errors import InputError

FILE = "attnlens.toml"
PREFIX = "ATTNLENS_"


def apply_settings(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Set the defaults of the command that ``words`` name from the environment and the file.

    Raises:
        InputError: the file is not TOML, a name in it is no setting, or a value does not
            fit its option.
    """
    commands = _commands(parser)
    command, *rest = [word for word in words if not word.startswith("-")] or [""]
    if command not in commands:
        return
    file = _file()
    _check_names(file, commands)
    inner = _commands(commands[command])  # of a group, such as text
    asked = next((inner[word] for word in rest if word in inner), commands[command])
    for name, action in _options(asked).items():
        variable = PREFIX + name.upper()
        if variable in os.environ:
            value, place = os.environ[variable], variable
        elif name in (table := file.get(command, {})):
            value, place = table[name], FILE
        elif name in file:
            value, place = file[name], FILE
        else:
            continue
        action.default = _value(action, value, place)
        action.required = False


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    groups = parser._subparsers._group_actions if parser._subparsers else []
    return {
        name: command
        for group in groups
        if isinstance(group.choices, dict)
        for name, command in group.choices.items()
    }


def _options(command: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Options that can have a default, by the name a setting has."""
    return {
        action.option_strings[-1].lstrip("-").replace("-", "_"): action
        for action in command._actions
        if action.option_strings and (action.nargs != 0 or _is_flag(action))
    }


def _check_names(file: dict[str, Any], commands: dict[str, argparse.ArgumentParser]) -> None:
    """A misspelt setting would otherwise do nothing, silently."""
    known = {
        name: set(_options(command)).union(*map(_options, _commands(command).values()))
        for name, command in commands.items()
    }
    anywhere = set().union(*known.values())
    for name, value in file.items():
        if name in commands and isinstance(value, dict):
            wrong, fits = sorted(set(value) - known[name]), known[name]
            place = f"in [{name}] "
        else:
            wrong, fits, place = [] if name in anywhere else [name], anywhere, ""
        if wrong:
            raise InputError(
                f"{place}{wrong[0]!r} is no setting",
                path=FILE,
                remedy=f"known: {', '.join(sorted(fits))}",
            )


def _file() -> dict[str, Any]:
    if not os.path.isfile(FILE):
        return {}
    import tomllib

    try:
        with open(FILE, "rb") as file:
            return tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise InputError(f"is not TOML ({error})", path=FILE, remedy="mend or remove it") from None


def _is_flag(action: argparse.Action) -> bool:
    return isinstance(action, argparse._StoreTrueAction | argparse._StoreFalseAction)


def _value(action: argparse.Action, value: Any, place: str) -> Any:
    option = action.option_strings[-1]
    if isinstance(value, dict | list):
        raise InputError(
            f"{option} cannot be a table or a list", path=place, remedy="give one value"
        )
    if _is_flag(action):
        truth = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
        text = str(value).lower()
        if text not in truth:
            raise InputError(
                f"{value!r} is no answer to {option}", path=place, remedy="say true or false"
            )
        return truth[text] if action.const else not truth[text]
    convert = action.type if callable(action.type) else str
    try:
        result = convert(str(value))
    except (ValueError, argparse.ArgumentTypeError) as error:
        remedy = str(error) if isinstance(error, argparse.ArgumentTypeError) else "give a number"
        raise InputError(f"{value!r} does not fit {option}", path=place, remedy=remedy) from None
    if action.choices is not None and result not in action.choices:
        known = ", ".join(map(str, action.choices))
        raise InputError(f"{value!r} does not fit {option}", path=place, remedy=f"use {known}")
    return result
