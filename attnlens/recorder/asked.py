"""What `intervene` is asked to do, as edits, or what is wrong with it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from attnlens.errors import InterventionError
from attnlens.recorder.adapters import SoftmaxAdapter
from attnlens.recorder.choice import Which, matches, sites_meant
from attnlens.recorder.completeness import some_of
from attnlens.recorder.edges import TENSORS, Edges, Positions, positions
from attnlens.recorder.edits import Edit, Freeze, Hide, Replace, Scale, whole_records

Hidden = Positions | Tensor | np.ndarray[Any, Any] | Edges | Sequence[Edges]
Factor = float | Tensor | np.ndarray[Any, Any]
New = Tensor | np.ndarray[Any, Any] | Callable[[Tensor], Tensor]


def edits_asked(given: Mapping[str, object], sites: Which | None, scope: Edges) -> list[Edit]:
    """The edits that the options of `intervene` ask for.

    Args:
        given: ``hide``, ``scale``, ``replace`` and ``freeze``; all but one None.
        sites: which sites, as `intervene` takes them.
        scope: the cells that its other options leave.

    Raises:
        InterventionError: options that exclude each other, or are not what they should be.
    """
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        problem = f"{' and '.join(named)} are given" if named else "nothing is given to do"
        raise InterventionError(
            f"{problem}; give one of hide=, scale=, replace= and freeze=, and nest blocks for more"
        )
    name, what = named[0], given[named[0]]
    if name == "freeze":
        return [_freeze(what, sites, scope)]
    if not isinstance(what, Mapping):
        return [_MAKERS[name](what, sites, scope)]
    if sites is not None or not what:
        problem = "names its sites; leave sites out" if what else "names no site"
        raise InterventionError(f"{name}= {problem}")
    return [_MAKERS[name](one, site, scope) for site, one in what.items()]


def _hide(what: Any, sites: Which | None, scope: Edges) -> Edit:
    if scope.key is not None:
        raise InterventionError("hide= says which keys; leave keys= out")
    patterns, wanted = _wanted(sites)
    values, edges = None, [scope]
    if isinstance(what, Edges) or (_is_list(what) and any(isinstance(one, Edges) for one in what)):
        edges = [what] if isinstance(what, Edges) else list(what)
        if not all(isinstance(one, Edges) for one in edges):
            raise InterventionError("hide= mixes Edges with positions; give Edges throughout")
        if scope != Edges():
            raise InterventionError("hide=Edges(...) says which cells; leave the other options out")
    elif _is_grid(what):
        values = torch.as_tensor(what)
        if values.dtype != torch.bool:
            raise InterventionError(f"hide= has {values.dtype}; give booleans, true where hidden")
        _check_grid("hide", values)
    else:
        edges = [dataclasses.replace(scope, key=positions("hide", what))]
    return Hide("hide", patterns, wanted, edges, values, renormalise=True)


def _scale(what: Any, sites: Which | None, scope: Edges) -> Edit:
    patterns, wanted = _wanted(sites)
    if isinstance(what, Tensor | np.ndarray) and what.ndim:
        values = torch.as_tensor(what)
        _check_grid("scale", values)
        return Scale("scale", patterns, wanted, [scope], values)
    try:
        factor = math.nan if isinstance(what, bool | str) else float(what)
    except (TypeError, ValueError):
        factor = math.nan
    if not math.isfinite(factor):
        raise InterventionError(f"scale={what!r}; give a number, or a tensor of them; {TENSORS}")
    return Scale("scale", patterns, wanted, [scope], factor=factor)


def _replace(what: Any, sites: Which | None, scope: Edges) -> Edit:
    patterns, wanted = _wanted(sites)
    if callable(what) and not isinstance(what, Tensor):
        return Replace("replace", patterns, wanted, [scope], change=what)
    if not isinstance(what, Tensor | np.ndarray):
        raise InterventionError(
            f"replace={type(what).__name__}; give a tensor, or a function of weights "
            f"(batch, head, query, key) that returns others; {TENSORS}"
        )
    values = torch.as_tensor(what)
    _check_grid("replace", values)
    return Replace("replace", patterns, wanted, [scope], values)


def _freeze(what: Any, sites: Which | None, scope: Edges) -> Edit:
    records = whole_records(what)
    patterns, wanted = _wanted(sites)
    if patterns is None and sites is None:
        patterns = tuple(records)
    for pattern in patterns or ():
        if not any(matches(site, pattern) for site in records):
            raise InterventionError(
                f"freeze: nothing called {pattern!r} was recorded; recorded: "
                f"{some_of(list(records))}"
            )
    return Freeze(
        "freeze",
        patterns,
        lambda site: site in records and wanted(site),
        [scope],
        records=records,
    )


_MAKERS: Final = {"hide": _hide, "scale": _scale, "replace": _replace}


def _wanted(sites: Which | None) -> tuple[tuple[str, ...] | None, Callable[[str], bool]]:
    """Patterns over site names, None for all sites with keys, and whether a site is wanted."""
    if sites is None:
        return None, lambda _: True
    return sites_meant("sites", sites, InterventionError)


def softmaxes_asked(given: Any) -> list[SoftmaxAdapter]:
    """Adapters as they may be given, none, one or many."""
    many = [] if given is None else list(given) if _is_list(given) else [given]
    for one in many:
        if not isinstance(one, SoftmaxAdapter):
            raise InterventionError(
                f"adapters={one!r}; give SoftmaxAdapter(sites): other adapters read what a module "
                "gives, and cannot change what it computes"
            )
    return many


def _is_list(what: Any) -> bool:
    return isinstance(what, Sequence) and not isinstance(what, str | bytes)


def _is_grid(what: Any) -> bool:
    """Whether this is one value per cell; a row of whole numbers is positions."""
    if not isinstance(what, Tensor | np.ndarray):
        return False
    kind = torch.as_tensor(what).dtype
    numbers = kind != torch.bool and not kind.is_floating_point
    return what.ndim > 1 or (what.ndim == 1 and not numbers)


def _check_grid(name: str, values: Tensor) -> None:
    if not 1 <= values.dim() <= 4 or not values.numel():
        raise InterventionError(f"{name}= has shape {tuple(values.shape)}; {TENSORS}")
