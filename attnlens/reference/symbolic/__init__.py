"""Show a module as mathematics: the equations and numbers of a forward pass of the live module."""

from attnlens.reference.symbolic.description import Description, Equation, Parameter, Trace, Value
from attnlens.reference.symbolic.equations import describe, trace

__all__ = ["Description", "Equation", "Parameter", "Trace", "Value", "describe", "trace"]
