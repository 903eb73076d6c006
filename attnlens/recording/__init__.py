"""Record and change the attention of a running model."""

from attnlens.recording.edits import Edges
from attnlens.recording.intervene import intervene
from attnlens.recording.record import record
from attnlens.recording.sites import Adapter, SoftmaxAdapter

__all__ = ["Adapter", "Edges", "SoftmaxAdapter", "intervene", "record"]
