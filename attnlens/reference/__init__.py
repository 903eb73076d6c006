"""Reference models, each small and exact, and `one_thread`: with it they compute the same twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep torch to one thread, and give back those it had.

    What these models compute is small, and waking threads costs more than it saves. Sums over
    several threads also differ in their last digits, and the same question should have the same
    answer.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
