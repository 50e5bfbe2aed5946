"""Records that the tests of client programs and of bindings leave in a build directory, for the pages made
from them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .mpi_libraries import Mpi


def _write(path: Path, record: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1))


def _read(path: Path) -> Any:
    return json.loads(path.read_text()) if path.exists() else {}


def _client(build: Path, client: str, mpi: Mpi) -> Path:
    return build / "tests" / "clients" / f"{client}.{mpi.tag}.json"


def _bindings(build: Path, mpi: Mpi) -> Path:
    return build / "tests" / "coverage" / f"{mpi.tag}.json"


def write_client(build: Path, client: str, mpi: Mpi, results: dict[str, str]) -> None:
    """What became of a client's cases: {case: "identical", "equal" or what else}."""
    _write(_client(build, client, mpi), results)


def read_client(build: Path, client: str, mpi: Mpi) -> dict[str, str]:
    """What write_client left; empty if it left nothing."""
    return _read(_client(build, client, mpi))


def write_bindings(build: Path, mpi: Mpi, called: dict[str, dict[str, list[str]]]) -> None:
    """{binding: {program: the MPI functions by which it came to pmio, without MPI_}}."""
    _write(_bindings(build, mpi), called)


def read_bindings(build: Path, mpi: Mpi) -> dict[str, dict[str, list[str]]]:
    """What write_bindings left; empty if it left nothing."""
    return _read(_bindings(build, mpi))
