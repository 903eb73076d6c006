"""Recording attention while a model runs."""

from attnlens.recorder.record import record

__all__ = ["record"]
