"""Recording attention while a model runs, and changing it."""

from attnlens.recorder.adapters import Adapter, SoftmaxAdapter
from attnlens.recorder.edges import Edges
from attnlens.recorder.intervene import intervene
from attnlens.recorder.record import record

__all__ = ["Adapter", "Edges", "SoftmaxAdapter", "intervene", "record"]
