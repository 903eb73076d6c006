"""What the tests of the dashboard in a browser share: its pages, opened, and what is on them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import torch
from dashboard_server import Server

import attnlens

HOSTILE = "<img src=x onerror=alert(1)>"
SAMPLE = "/match/simulated-82/innings/1/ball/47"
PATIENCE = 40_000


def two_recordings(folder: Path) -> tuple[Path, Path]:
    """Of one encoder, before and after its second layer was changed, on the same input."""
    torch.manual_seed(3)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x = torch.randn(1, 6, 16)
    paths = folder / "before.safetensors", folder / "after.safetensors"
    for path in paths:
        with attnlens.record(model) as recording, torch.no_grad():
            model(x)
        recording.save(path)
        with torch.no_grad():
            for parameter in model.layers[1].parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
    return paths


def opened(page: Any, server: Server, path: str = SAMPLE, *, explained: bool = False) -> None:
    page.goto(server.url + path)
    page.wait_for_selector("body[data-ready=yes]")
    if explained:
        page.wait_for_selector(".claims")


def colours(png: bytes) -> set[tuple[int, int, int]]:
    """Those of the picture on a white ground."""
    from PIL import Image

    image = Image.open(io.BytesIO(png)).convert("RGBA")
    ground = Image.new("RGBA", image.size, "white")
    seen = Image.alpha_composite(ground, image).convert("RGB")
    found = seen.getcolors(image.width * image.height)
    return {colour for _, colour in found}


def ball(page: Any) -> int:
    return int(page.locator(".slider").get_attribute("aria-valuenow"))
