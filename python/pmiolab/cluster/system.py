"""Commands of the system, and waiting; what goes wrong becomes one line."""

import shutil
import subprocess
import time


class TestbedError(Exception):
    """What went wrong and what to do, in one line."""


def run(*words, **options):
    """The command's output; TestbedError with its last line if it fails."""
    words = [str(word) for word in words]
    result = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", **options)
    if result.returncode != 0:
        lines = (result.stderr + result.stdout).strip().splitlines()
        raise TestbedError(f"{' '.join(words)}: {lines[-1] if lines else f'exit code {result.returncode}'}")
    return result.stdout


def wait_for(what, condition, seconds=10):
    """The condition's first true value; TestbedError if there is none in that time."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TestbedError(f"{what}: not within {seconds} s")
        time.sleep(0.02)
    return value


def require_commands(commands, remedy):
    missing = [command for command in commands if not shutil.which(command)]
    if missing:
        raise TestbedError(f"{', '.join(missing)} not found: {remedy}")
