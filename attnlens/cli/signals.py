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
    """The process received a signal to end, which has this ``number``."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Raise `Terminated` in the ``with`` block on a `SIGTERM` or `SIGHUP`.

    The command can then delete its partial files. After the block, the process ends with the same
    signal, so that the exit status is correct. Ignored signals, such as `SIGHUP` under ``nohup``,
    stay ignored. Signals with a handler keep the handler.
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

    In a server's event loop, the exception `Terminated` would print a traceback.
    """
    for name in _ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is _terminate:
            signal.signal(number, signal.SIG_DFL)


def _terminate(number: int, _: FrameType | None) -> NoReturn:
    raise Terminated(number)


def _raise_again(otherwise: Hook) -> Hook:
    """Return a hook that repeats a signal whose exception Python dropped.

    Python drops every exception that is raised while an object is freed.
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

    With too many open files, asyncio raises an `OSError`, and leaves an event loop without sockets.
    The program reports this error. A second error occurs when the loop is freed.
    """
    return getattr(dropped.object, "__qualname__", "") == "BaseEventLoop.__del__"


def _signal_main_thread(number: int) -> None:
    """Send a signal to the main thread, even if that thread is sleeping or waiting."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, number)
    else:
        _thread.interrupt_main(signal.Signals(number))
