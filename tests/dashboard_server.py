"""A dashboard as a process of its own, and a real browser to look at it with."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import clean_environment, command

SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Server:
    """A dashboard that answers at ``url``."""

    url: str
    process: subprocess.Popen[str]

    def get(self, path: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
        return self.send(urllib.request.Request(self.url + path, headers=headers))

    def post(self, path: str, body: bytes, **headers: str) -> tuple[int, dict[str, Any]]:
        asked = urllib.request.Request(self.url + path, data=body, headers=headers, method="POST")
        status, content, _ = self.send(asked)
        return status, json.loads(content)

    def send(self, request: urllib.request.Request) -> tuple[int, bytes, dict[str, str]]:
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, answer.read(), dict(answer.headers)
        except urllib.error.HTTPError as error:
            return error.code, error.read(), dict(error.headers)


@contextlib.contextmanager
def serving(folder: Path, *arguments: str | Path) -> Iterator[Server]:
    """A dashboard on a free port, ended with the block."""
    words = command("dashboard", *arguments, "--no-browser", "--port", "0")
    # Appended to: what is read here must not move the place where the server writes.
    said = (folder / "dashboard.err").open("a")
    environment = clean_environment(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", PYTHONWARNINGS="")
    process = subprocess.Popen(
        words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=said, text=True
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip().rstrip("/")
        assert url.startswith("http://"), (folder / "dashboard.err").read_text()
        server = Server(url, process)
        for _ in range(200):
            with contextlib.suppress(OSError):
                if server.get("/health")[0] == 200:
                    break
            time.sleep(0.1)
        yield server
    finally:
        process.terminate()
        process.wait(30)
        assert process.stdout is not None
        process.stdout.close()
        said.close()


def browser_path() -> str | None:
    """The system's Chromium, or one that the environment names."""
    named = os.environ.get("ATTNLENS_TEST_BROWSER")
    names = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
    return named or next(filter(None, map(shutil.which, names)), None)
