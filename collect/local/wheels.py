"""Published wheels, fetched as they are by the installer of this environment, never installed.

Some hold what is no Python: the weights of a model, a program. Whoever can install this package can
fetch them too, from the same registry and with the same settings.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from schemas.errors import CollectError

FETCH_SECONDS = 900
"""Long enough for 90 MB over a slow line, short enough not to look like a hang for ever."""

LOG_LINES = 5
"""Last lines of an installer that failed, which are shown."""


class WheelError(CollectError):
    """A wheel cannot be fetched."""


def download(package: str, folder: Path) -> None:
    """Leave the files of a package's wheel in a folder; none of them is made executable.

    Raises:
        WheelError: there is no installer, it fails, or what it fetched is no wheel.
        OSError: the folder cannot be written.
    """
    if importlib.util.find_spec("pip") is not None:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
        command += ["--only-binary", ":all:", "-d", str(folder), package]
    elif uv := shutil.which("uv"):  # environments that uv made contain no pip
        command = [uv, "pip", "install", "-q", "--no-deps", "--python", sys.executable]
        command += ["--target", str(folder), package]
    else:
        text = f"fetching {package} needs pip or uv, and neither was found"
        raise WheelError(text)
    try:
        done = _run(command)
    except subprocess.TimeoutExpired as exc:
        text = f"fetching {package} took more than {FETCH_SECONDS} s"
        raise WheelError(text) from exc
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        tail = "\n".join(f"  {line}" for line in lines[-LOG_LINES:])
        text = f"cannot fetch {package} (exit code {done.returncode}):\n{tail}"
        raise WheelError(text)
    for wheel in folder.glob("*.whl"):
        try:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
        except zipfile.BadZipFile as exc:
            text = f"what was fetched as {package} is no wheel: {exc}"
            raise WheelError(text) from exc
        wheel.unlink()


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the installer; the one place that reaches the network, replaced in tests."""
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=FETCH_SECONDS,
        check=False,
    )
