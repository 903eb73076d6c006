"""Modules as mathematics: equations and numbers of a forward pass, from the live module."""

from attnlens.reference.symbolic.description import Description, Equation, Parameter
from attnlens.reference.symbolic.equations import describe, trace
from attnlens.reference.symbolic.traced_pass import Trace, Value

__all__ = ["Description", "Equation", "Parameter", "Trace", "Value", "describe", "trace"]
