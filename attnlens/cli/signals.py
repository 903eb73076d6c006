"""Signals that end a command: it stops as by Ctrl-C, and leaves nothing half-written behind."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

    Hook = Callable[[UnraisableHookArgs], None]

_ENDING: Final = ("SIGTERM", "SIGHUP")
_AGAIN_SECONDS: Final = 0.02


class Terminated(KeyboardInterrupt):
    """This process was asked to end by the signal ``number``."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def ending_in_order() -> Iterator[None]:
    """A block that a signal ends by an exception, so that parts of files are taken away.

    After the block this process ends by that very signal, as whoever sent it expects. Signals that
    are ignored (``nohup``) or have a handler stay so.
    """
    numbers = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]
    in_main_thread = threading.current_thread() is threading.main_thread()
    taken = [
        number
        for number in (numbers if in_main_thread else ())
        if signal.getsignal(number) == signal.SIG_DFL
    ]
    hook, sys.unraisablehook = sys.unraisablehook, _raise_again(sys.unraisablehook)
    for number in taken:
        signal.signal(number, _terminate)
    try:
        yield
    except Terminated as stop:
        signal.signal(stop.number, signal.SIG_DFL)
        signal.raise_signal(stop.number)
        raise
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
        sys.unraisablehook = hook


def end_at_once() -> None:
    """Let `SIGTERM` and `SIGHUP` end this process as if nothing had taken them.

    For servers, which write no file: an exception in an event loop would be told by its traceback.
    """
    for name in _ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is _terminate:
            signal.signal(number, signal.SIG_DFL)


def _terminate(number: int, _: FrameType | None) -> NoReturn:
    raise Terminated(number)


def _raise_again(otherwise: Hook) -> Hook:
    """A hook for exceptions that Python drops: a signal's comes again, a moment later.

    An exception that is raised while an object is being freed is dropped, and Ctrl-C with it.
    """

    def hook(dropped: UnraisableHookArgs) -> None:
        if isinstance(dropped.exc_value, KeyboardInterrupt):
            number = getattr(dropped.exc_value, "number", signal.SIGINT)
            threading.Timer(_AGAIN_SECONDS, _signal_main_thread, (number,)).start()
        else:
            otherwise(dropped)

    return hook


def _signal_main_thread(number: int) -> None:
    """Also where it sleeps or waits."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, number)
    else:
        _thread.interrupt_main(signal.Signals(number))
