"""Show a module as mathematics: the equations and the numbers of one forward pass."""

from attnlens.reference.symbolic.description import Description, Equation, Parameter, Trace, Value
from attnlens.reference.symbolic.equations import describe, trace

__all__ = ["Description", "Equation", "Parameter", "Trace", "Value", "describe", "trace"]
