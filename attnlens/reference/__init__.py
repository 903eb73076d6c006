"""Small, exact reference models, and `one_thread`, which makes their results reproducible."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch to one thread, and restore the previous number of threads afterwards.

    These models are small, so starting threads costs more time than it saves. Sums over several
    threads can also differ in their last digits, and repeated runs should give the same result.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
