"""Recording attention while a model runs."""

from attnlens.recorder.adapters import Adapter, SoftmaxAdapter
from attnlens.recorder.record import record

__all__ = ["Adapter", "SoftmaxAdapter", "record"]
