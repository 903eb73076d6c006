"""How near two computations of the same numbers are, and two printings of them.

The same call on the same tensors in torch's own memory gives the same bits twice in one process:
such tests compare with ``torch.equal``. With other shapes, a batch of another size, memory that is
not torch's (numpy's, a file's), other threads or another processor the same products are added up
in another order: such numbers agree to a rounding error of the type they were worked out in.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import torch

ROUNDING = {torch.float64: 1e-10, torch.float32: 2e-6, torch.bfloat16: 2e-2, torch.float16: 2e-3}
"""How far numbers of each type may be apart, relative for those above 1: a few steps of the type
after a network's worth of sums."""

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?%?")


def near(found: Any, expected: Any, *, of: torch.dtype) -> None:
    """The numbers agree, up to the rounding of the type they were worked out in.

    Args:
        of: that type; what came out of it may have another by now.
    """
    one, other = (torch.as_tensor(value).detach().double() for value in (found, expected))
    torch.testing.assert_close(one, other, atol=ROUNDING[of], rtol=ROUNDING[of])


def near_effect(found: Any, expected: Any) -> None:
    """The divergences agree, up to the rounding of the probabilities they are between.

    Those come from float32 networks. Where they are off by a share r of themselves, a divergence
    d is off by at most about 2r√(2d).
    """
    one, other = np.asarray(found, float), np.asarray(expected, float)
    bound = 2 * ROUNDING[torch.float32] * np.sqrt(2 * np.abs(other)) + 1e-11
    assert (np.abs(one - other) <= bound).all(), (one, other)


def near_documents(found: Any, expected: Any) -> None:
    """Two JSON documents are the same, their numbers with a point up to float32's rounding."""
    assert type(found) is type(expected), (found, expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for name, value in expected.items():
            near_documents(found[name], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for pair in zip(found, expected, strict=True):
            near_documents(*pair)
    elif isinstance(expected, float):
        near(found, expected, of=torch.float32)
    else:
        assert found == expected


def same_but_for_last_digits(printed: str, shown: str) -> None:
    """What is shown is in what was printed: its words, and its numbers to their last digit.

    Other processors round elsewhere. Counts are the same; a percentage may be one off.
    """
    words = map(re.escape, NUMBER.split(shown))
    found = re.search(f"({NUMBER.pattern})".join(words), printed)
    assert found, f"not printed:\n{shown}\nbut:\n{printed}"
    for one, other in zip(found.groups(), NUMBER.findall(shown), strict=True):
        places = len(other.rstrip("%").partition(".")[2])
        exact = not places and "%" not in other
        step = 0 if exact else 1.01 * 10.0**-places
        numbers = [float(number.rstrip("%")) for number in (one, other)]
        assert abs(numbers[0] - numbers[1]) <= step, (one, other)
