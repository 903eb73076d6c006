"""Handle the signals that end a command, so that the command deletes its partial files first."""

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
    """The process received the signal ``number``, which asks the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Raise `Terminated` in the ``with`` block on a `SIGTERM` or `SIGHUP`.

    The exception lets the command delete its partial files. After the block, the process ends with
    the same signal, so that the exit status is correct. Signals that the process ignores, such as
    `SIGHUP` under ``nohup``, stay ignored. A signal that already has a handler keeps its handler.
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
    """Let `SIGTERM` and `SIGHUP` end the process immediately, which is their default effect.

    Servers call this function, because they have no partial files to delete. Without this call, the
    exception `Terminated` would print a traceback in an event loop.
    """
    for name in _ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is _terminate:
            signal.signal(number, signal.SIG_DFL)


def _terminate(number: int, _: FrameType | None) -> NoReturn:
    raise Terminated(number)


def _raise_again(otherwise: Hook) -> Hook:
    """Return a hook that repeats a signal if Python has dropped the exception for that signal.

    Python drops every exception that is raised while an object is freed, even a KeyboardInterrupt.
    ``otherwise`` is the hook for all other exceptions.
    """

    def hook(dropped: UnraisableHookArgs) -> None:
        if isinstance(dropped.exc_value, KeyboardInterrupt):
            number = getattr(dropped.exc_value, "number", signal.SIGINT)
            threading.Timer(_AGAIN_SECONDS, _signal_main_thread, (number,)).start()
        elif not _is_unfinished_event_loop(dropped):
            otherwise(dropped)

    return hook


def _is_unfinished_event_loop(dropped: UnraisableHookArgs) -> bool:
    """Return whether the exception was raised while an asyncio event loop was freed.

    If too many files are open, asyncio raises an `OSError` and leaves an event loop without
    sockets. The program reports that error. When the loop is freed, Python prints a second error.
    """
    return getattr(dropped.object, "__qualname__", "") == "BaseEventLoop.__del__"


def _signal_main_thread(number: int) -> None:
    """Send a signal to the main thread, even if that thread is sleeping or waiting."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, number)
    else:
        _thread.interrupt_main(signal.Signals(number))
