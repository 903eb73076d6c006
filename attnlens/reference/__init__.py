"""Small reference models, and a context manager that makes the models' results reproducible."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch to one thread, and restore the previous number of threads afterwards.

    With several threads, the last digits of sums can differ between runs.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
