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
from pathlib import Path
from typing import Any

from attnlens.errors import InputError

FILE = "attnlens.toml"
PREFIX = "ATTNLENS_"


def apply_settings(parser: argparse.ArgumentParser) -> None:
    """Set every command's defaults from the environment and the file.

    Raises:
        InputError: the file is not TOML, or a value does not fit its option.
    """
    file = _file()
    for group in parser._subparsers._group_actions if parser._subparsers else ():
        for command, sub in (getattr(group, "choices", None) or {}).items():
            table = file.get(command)
            table = table if isinstance(table, dict) else {}
            for action in sub._actions:
                if not action.option_strings or (action.nargs == 0 and not _is_flag(action)):
                    continue
                name = action.dest
                variable = PREFIX + name.upper()
                if variable in os.environ:
                    action.default = _value(action, os.environ[variable], variable)
                elif name in table or name in file:
                    action.default = _value(action, table.get(name, file.get(name)), FILE)


def _file() -> dict[str, Any]:
    path = Path(FILE)
    if not path.is_file():
        return {}
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise InputError(f"is not TOML ({error})", path=FILE, remedy="mend or remove it") from None


def _is_flag(action: argparse.Action) -> bool:
    return isinstance(action, argparse._StoreTrueAction | argparse._StoreFalseAction)


def _value(action: argparse.Action, value: Any, place: str) -> Any:
    option = action.option_strings[-1]
    if _is_flag(action):
        truth = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
        text = str(value).lower()
        if text not in truth:
            raise InputError(f"{value!r} is no answer to {option}", path=place, remedy="say true")
        return truth[text] if action.const else not truth[text]
    convert = action.type if callable(action.type) else str
    try:
        result = convert(str(value))
    except (ValueError, argparse.ArgumentTypeError):
        raise InputError(f"{value!r} does not fit {option}", path=place) from None
    if action.choices is not None and result not in action.choices:
        known = ", ".join(map(str, action.choices))
        raise InputError(f"{value!r} does not fit {option}", path=place, remedy=f"use {known}")
    return result
