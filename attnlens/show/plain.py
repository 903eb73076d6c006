"""Plain data for programs and pipes."""

from __future__ import annotations

import json


def render_json(data: object) -> str:
    """Plain data as indented JSON, keys in their order, no line break at the end."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
