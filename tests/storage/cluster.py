"""A cluster of PostgreSQL for the tests alone, where ``initdb`` is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path


def programs() -> Path | None:
    """Return the folder with the programs of PostgreSQL: Debian has them on no path."""
    named = shutil.which("initdb")
    folders = [] if named is None else [Path(os.path.realpath(named)).parent, Path(named).parent]
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    folders += sorted(versions, key=lambda own: own.parent.name.zfill(3), reverse=True)
    both = ("initdb", "pg_ctl")
    return next((own for own in folders if all((own / name).exists() for name in both)), None)


PROGRAMS = programs()

MISSING = next(
    (
        reason
        for reason, found in (
            ("PostgreSQL (initdb) is not installed", PROGRAMS),
            ("psycopg is not installed", find_spec("psycopg")),
        )
        if not found
    ),
    None,
)
"""Why tests with PostgreSQL are skipped, if they are."""


class Cluster:
    """A server that listens to a socket in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._data = folder / "data"
        self._as = {"user": "nobody", "group": "nogroup"} if os.getuid() == 0 else {}
        options = ("--auth=trust", "--username=postgres", "--no-sync", "--encoding=UTF8")
        self._run("initdb", "-D", str(self._data), *options)
        self.start()

    def _run(self, program: str, *words: str) -> None:
        assert PROGRAMS is not None
        command, log = [str(PROGRAMS / program), *words], self.folder / "out"
        with log.open("a") as out:
            done = subprocess.run(command, cwd=self.folder, stdout=out, stderr=out, **self._as)  # type: ignore[call-overload]
        assert done.returncode == 0, log.read_text()

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c max_connections=50 -c fsync=off"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-w", "-D", str(self._data), "-l", log, "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-w", "-D", str(self._data), "-m", mode, "stop")

    def address(self, schema: str) -> str:
        """Return an address at which the tables are in a schema of their own."""
        host = f"host={self.folder}&user=postgres"
        return f"postgresql:///postgres?{host}&options=-csearch_path%3D{schema}"

    def new(self, schema: str) -> str:
        """Return the address of an empty schema."""
        import psycopg

        with psycopg.connect(self.address("public"), autocommit=True) as own:
            own.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE'.encode())
            own.execute(f'CREATE SCHEMA "{schema}"'.encode())
        return self.address(schema)


@contextmanager
def running(kind: type[Cluster] = Cluster) -> Iterator[Cluster]:
    folder = Path(tempfile.mkdtemp(prefix="pm-postgres-"))
    try:
        if os.getuid() == 0:
            shutil.chown(folder, "nobody", "nogroup")
        cluster = kind(folder)
        yield cluster
        cluster.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
