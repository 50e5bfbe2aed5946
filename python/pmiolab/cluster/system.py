"""Commands of the system, and waiting; what goes wrong becomes one line."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Value = TypeVar("Value")


class TestbedError(Exception):
    """What went wrong and what to do, in one line."""


def run(*words: object, **options: Any) -> str:
    """The command's output; TestbedError with its last line if it fails."""
    command = [str(word) for word in words]
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", **options
    )
    if result.returncode != 0:
        lines = (result.stderr + result.stdout).strip().splitlines()
        raise TestbedError(f"{' '.join(command)}: {lines[-1] if lines else f'exit code {result.returncode}'}")
    return result.stdout


def wait_for(what: str, condition: Callable[[], Value], seconds: float = 10) -> Value:
    """The condition's first true value; TestbedError if there is none within that many seconds."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TestbedError(f"{what}: not within {seconds} s")
        time.sleep(0.02)
    return value


def require_commands(commands: Iterable[str], remedy: str) -> None:
    """TestbedError, with the remedy, if one of them is not installed."""
    missing = [command for command in commands if not shutil.which(command)]
    if missing:
        raise TestbedError(f"{', '.join(missing)} not found: {remedy}")
