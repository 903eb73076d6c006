"""Load models from a Hugging Face folder, a GGUF file or a function; nothing is downloaded."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from io import StringIO
from typing import Any, Final

from torch import nn

from attnlens.child import Bounds
from attnlens.errors import InputError
from attnlens.files import read_whole, size_of

_OFFLINE: Final = (
    "nothing is ever downloaded: give a folder with config.json, weights and a tokenizer"
)
_WEIGHTS: Final = (".safetensors", ".bin")
_SAFELY: Final = {"local_files_only": True, "trust_remote_code": False}
_MAX_CONFIG_BYTES: Final = 16 << 20
_BASE_MEMORY: Final = 4 << 30
_MEMORY_PER_BYTE: Final = 20
"""Memory limit per byte of a model file: 2-bit weights become 32-bit weights and are copied."""
_MAX_CPU_SECONDS: Final = 24 * 3600
_MAX_SILENT_SECONDS: Final = 3600.0
_TOKENS: Final = ("tokenizer", "vocab", "merges", "spiece")


@dataclass(frozen=True, slots=True, eq=False)
class ModelSource:
    """A model, its tokenizer or labels, and its inputs (only from ``module:function``)."""

    model: nn.Module
    tokens: Any = None
    inputs: Any = None


def load_model(path: str) -> ModelSource:
    """Load the model at a path. Code stored with a model is never run.

    Args:
        path: a Hugging Face folder, a GGUF file, or ``module:function`` that returns ``(model,
            inputs)`` or ``(model, inputs, tokens)``.

    Raises:
        InputError: there is no model at the path, or the model cannot be read.
    """
    if check_model(path):
        module, _, function = path.partition(":")
        return _of_function(module, function)
    return _of_folder(path) if os.path.isdir(path) else _of_gguf(path)


def check_model(path: str) -> bool:
    """Check a path before its model is loaded.

    Returns:
        True for ``module:function``, which runs the user's code; False for a folder or a file.

    Raises:
        InputError: there is no model at the path, or the model requires its own code.
    """
    if os.path.isdir(path):
        _check_folder(path)
        return False
    if path.lower().endswith(".gguf"):
        if not os.path.isfile(path):
            raise InputError("no such file", path=path, remedy="give a GGUF file")
        return False
    if ":" in path and not os.path.exists(path):
        return True
    problem = "is neither a folder nor a GGUF file" if os.path.exists(path) else "no such model"
    raise InputError(problem, path=path, remedy=f"{_OFFLINE}, a .gguf file, or module:function")


def model_bounds(path: str) -> Bounds:
    """Return the resource limits of the process that opens a folder or a GGUF file."""
    return Bounds(
        memory=_BASE_MEMORY + _MEMORY_PER_BYTE * size_of(path),
        cpu_seconds=_MAX_CPU_SECONDS,
        silent_seconds=_MAX_SILENT_SECONDS,
        remedy="if you trust the model, load it in your own code, and give module:function",
    )


def _check_folder(path: str) -> None:
    names = os.listdir(path)
    if "config.json" not in names:
        raise InputError(
            "is not a model folder, because it contains no config.json", path=path, remedy=_OFFLINE
        )
    if not any(name.endswith(_WEIGHTS) for name in names):
        raise InputError("contains no weights (.safetensors or .bin)", path=path, remedy=_OFFLINE)
    if not any(name.startswith(_TOKENS) or name.endswith(".model") for name in names):
        raise InputError("contains no tokenizer", path=path, remedy=_OFFLINE)
    for name in sorted(names):
        file = os.path.join(path, name)
        if os.path.exists(file) and not os.path.isfile(file) and not os.path.isdir(file):
            raise InputError("is a device or a pipe, not a file", path=file, remedy=_OFFLINE)
        if name.endswith(".index.json"):
            _check_index(path, file)
        is_config = name.endswith("config.json") or (name.startswith("config") and ".json" in name)
        if not is_config or not os.path.isfile(file):
            continue
        content = read_whole(file, _MAX_CONFIG_BYTES, remedy=_OFFLINE)
        try:
            code = _code_setting(json.loads(content))
        except (ValueError, RecursionError):
            raise InputError("cannot be read as JSON", path=file, remedy=_OFFLINE) from None
        if code:
            raise InputError(
                f"requires its own code to be run ({code}), which attnlens refuses",
                path=file,
                remedy="load the model in your own code, and give module:function",
            )


def _code_setting(config: Any) -> str | None:
    """Return a configuration key that makes transformers run other code, or None.

    The code is in the model folder (``auto_map``) or in a repository of kernels
    (``owner/repository``). The key ``attribute_map`` can rename the other keys.
    """
    remaining: list[tuple[Any, str | None]] = [(config, None)]
    while remaining:
        value, kernel_key = remaining.pop()
        if isinstance(value, dict):
            for key, entry in value.items():
                if key in ("auto_map", "attribute_map"):
                    return str(key)
                entry_key = key if "attn_implementation" in key else kernel_key
                remaining += [(key, kernel_key), (entry, entry_key)]
        elif isinstance(value, list):
            remaining += [(entry, kernel_key) for entry in value]
        elif kernel_key is not None and isinstance(value, str) and "/" in value:
            return kernel_key
    return None


def _check_index(path: str, file: str) -> None:
    content = read_whole(file, _MAX_CONFIG_BYTES, remedy=_OFFLINE)
    try:
        parts = {str(part) for part in json.loads(content)["weight_map"].values()}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise InputError("is not a list of weight files", path=file, remedy=_OFFLINE) from None
    for part in sorted(parts):
        if os.path.basename(part) != part or not os.path.isfile(os.path.join(path, part)):
            problem = f"names the weight file {part!r}, which is not in the folder"
            raise InputError(problem, path=file, remedy=_OFFLINE)


def _of_folder(path: str) -> ModelSource:
    transformers = _transformers()
    with _quietly(path, "its config.json cannot be read"):
        config = transformers.AutoConfig.from_pretrained(path, **_SAFELY)
        names = getattr(config, "architectures", None) or ["AutoModel"]
        class_name = names[0] if isinstance(names, list) else names
    kind = getattr(transformers, str(class_name), None)
    if kind is None:
        raise InputError(
            f"is a {class_name}, which is unknown to transformers {transformers.__version__}",
            path=path,
            remedy="load the model in your own code, and give module:function",
        )
    with _quietly(path, "its weights cannot be read"):
        model = kind.from_pretrained(path, **_SAFELY).eval()
    with _quietly(path, "its tokenizer cannot be read"):
        tokens = transformers.AutoTokenizer.from_pretrained(path, **_SAFELY)
    return ModelSource(model, tokens)


def _of_gguf(path: str) -> ModelSource:
    for name in ("gguf", "accelerate"):
        try:
            import_module(name)
        except ImportError:
            raise InputError(
                f"{name} is needed to read a GGUF file",
                path=path,
                remedy=f"run: pip install {name}, or pip install 'attnlens[real]'",
            ) from None
    transformers = _transformers()
    folder, file = os.path.split(os.path.abspath(path))
    with _quietly(path, "cannot be read as GGUF"), _read_once():
        options = {**_SAFELY, "gguf_file": file}
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, **options).eval()
        return ModelSource(model, transformers.AutoTokenizer.from_pretrained(folder, **options))


@contextmanager
def _read_once() -> Iterator[None]:
    """Make transformers read a GGUF file once instead of three times."""
    gguf = import_module("gguf")
    before = {name: getattr(gguf, name) for name in ("GGUFReader", "get_tensor_name_map")}
    try:
        for name, function in before.items():
            setattr(gguf, name, lru_cache(maxsize=2)(function))
        yield
    finally:
        for name, function in before.items():
            setattr(gguf, name, function)


def _of_function(module: str, name: str) -> ModelSource:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        function: Callable[[], Any] = getattr(import_module(module), name)
    except ImportError as error:
        raise InputError(
            f"{module} cannot be imported ({error})", remedy="give a module in the current folder"
        ) from error
    except AttributeError:
        raise InputError(
            f"{module} has no function {name}", remedy="give module:function"
        ) from None
    try:
        result = function()
    except Exception as error:
        raise InputError(
            f"{module}:{name} raised {type(error).__name__}: {error}",
            remedy="correct the function first",
        ) from error
    if not isinstance(result, tuple) or len(result) not in (2, 3):
        raise InputError(
            f"{module}:{name} returned {type(result).__name__} instead of two or three values",
            remedy="return (model, inputs) or (model, inputs, tokens)",
        )
    model, inputs, *tokens = result
    return ModelSource(model, tokens[0] if tokens else None, inputs)


def _transformers() -> Any:
    os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
    try:
        import transformers
    except ImportError:
        raise InputError(
            "transformers is needed to read this model", remedy="run: pip install transformers"
        ) from None
    logging: Any = transformers.utils.logging
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    return transformers


@contextmanager
def _quietly(path: str, problem: str) -> Any:
    try:
        with warnings.catch_warnings(), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    except Exception as error:
        detail = " ".join(str(error).split())[:160]
        raise InputError(
            f"{problem} ({type(error).__name__}: {detail})", path=path, remedy=_OFFLINE
        ) from error
