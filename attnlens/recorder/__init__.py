"""Recording attention while a model runs, and changing it."""

from attnlens.recorder.edits import Edges
from attnlens.recorder.intervene import intervene
from attnlens.recorder.record import record
from attnlens.recorder.sites import Adapter, SoftmaxAdapter

__all__ = ["Adapter", "Edges", "SoftmaxAdapter", "intervene", "record"]
