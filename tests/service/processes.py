"""Servers in processes of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from tests.service.http_client import Client

PM = [sys.executable, "-m", "partial_monitoring"]


TOKEN = re.compile(r"pm_[0-9a-f]{12}_[A-Za-z0-9_-]{43}")


class Process:
    """A service that runs, and what it has printed."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.out, self.log = folder / "out", folder / "log"
        with self.out.open("w") as out, self.log.open("w") as log:
            self.own = subprocess.Popen(
                [*PM, "serve", *words, "--port", "0", "--access-log"],
                cwd=folder,
                stdout=out,
                stderr=log,
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
            )
        end = monotonic() + 40
        while "at http" not in self.printed and self.own.poll() is None and monotonic() < end:
            sleep(0.02)
        match = re.search(r"at (https?://\S+)", self.printed)
        self.address = "" if match is None else match[1]
        found = TOKEN.search(self.printed)
        self.token = "" if found is None else found[0]
        self.client = Client(self.address, self.token)

    @property
    def printed(self) -> str:
        return self.out.read_text()

    def wait_ready(self) -> None:
        while self.client("GET", "/health/ready").status != 200:
            sleep(0.02)

    def ended(self, seconds: float = 20) -> int:
        return self.own.wait(seconds)


@contextmanager
def running(folder: Path, *words: str) -> Iterator[Process]:
    found = Process(folder, *words)
    try:
        yield found
    finally:
        if found.own.poll() is None:
            found.own.kill()
        found.own.wait()
