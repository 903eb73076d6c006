"""Take screenshots of every page of the dashboard, in three screen sizes, and in light and dark.

    python benchmarks/dashboard_screenshots.py docs/screenshots [PAGE...]

The pages show only the simulated sample match and recordings of an untrained layer. If page names
are given after the folder, only these pages are shown.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests"), str(REPOSITORY / "benchmarks")]

from command_line import run_process  # noqa: E402
from dashboard_server import browsing, serving, two_recordings  # noqa: E402

SAMPLE = REPOSITORY / "sample_data" / "match.csv"
BALL = "/match/simulated-252/innings/1/ball/47"
PAGES = {
    "home": "/",
    "story": "/match/simulated-252",
    "ball": BALL,
    "enlarged": f"{BALL}?head=whole-0",
    "heads": "/heads",
    "head": "/heads/whole-0",
    "recordings": "/recordings",
    "recording": "/recording/before.safetensors",
    "lost": "/nowhere",
}
FULL_PAGE = ("story", "head")
SIZES = {"desktop": (1440, 900), "laptop": (1280, 800), "phone": (390, 844)}
COLOURS = 64


def made(folder: Path) -> None:
    """Write the head statistics of the sample match to `heads.json`."""
    options = ("--allow-in-sample", "--balls", "40", "--json", "--out", "heads.json")
    answer = run_process(folder, "lab", "heads", SAMPLE, *options)
    assert answer.status == 0, answer.err


def settle(page: Any, name: str) -> None:
    """Wait until the page is completely drawn."""
    page.wait_for_selector("main h1", state="attached")
    if name in ("story", "ball", "enlarged"):
        page.wait_for_selector("body[data-tested=yes]", timeout=120_000)
    if name in ("heads", "head"):
        page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
    if name == "recording":
        page.frame_locator("iframe").locator("#title:not(:empty)").wait_for()
    page.wait_for_timeout(300)


def smaller(picture: bytes) -> bytes:
    """Return the picture as a smaller PNG file that has only 64 colours."""
    from PIL import Image

    image = Image.open(io.BytesIO(picture)).convert("RGB")
    out = io.BytesIO()
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def main() -> None:
    target, names = Path(sys.argv[1]), sys.argv[2:] or list(PAGES)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        recordings = two_recordings(Path(name), width=32, heads=4, tokens=24)
        made(Path(name))
        arguments = (SAMPLE, *recordings, "--heads", "heads.json")
        with serving(Path(name), *arguments) as server, browsing() as browser:
            for size, (width, height) in SIZES.items():
                for theme in ("light", "dark"):
                    context = browser.new_context(
                        viewport={"width": width, "height": height}, color_scheme=theme
                    )
                    page = context.new_page()
                    for page_name in names:
                        page.goto(server.url + PAGES[page_name])
                        settle(page, page_name)
                        full_page = page_name in FULL_PAGE
                        picture = smaller(page.screenshot(full_page=full_page))
                        file = target / f"{page_name}-{size}-{theme}.png"
                        file.write_bytes(picture)
                        print(f"{file.name} {len(picture) // 1000} kB", flush=True)
                    context.close()


if __name__ == "__main__":
    main()
