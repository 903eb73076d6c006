"""Named, labelled dimensions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension: what it counts, and what each position is called if that is known.

    ``Axis("key", ("46.5", "46.6", "47.1"))``
    """

    name: str
    labels: tuple[str, ...] | None = None

    def labelled(self, labels: tuple[str, ...]) -> Axis:
        """The same axis with labels."""
        return Axis(self.name, labels)
