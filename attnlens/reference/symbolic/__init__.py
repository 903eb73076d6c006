"""Modules as mathematics: equations and numbers of a forward pass, from the live module."""

from attnlens.reference.symbolic.equations import (
    Description,
    Equation,
    Parameter,
    Trace,
    Value,
    describe,
    trace,
)

__all__ = ["Description", "Equation", "Parameter", "Trace", "Value", "describe", "trace"]
