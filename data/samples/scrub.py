"""Takes out of the samples what tells which machine made them, and makes sure that it is out."""

from __future__ import annotations

import getpass
import io
import json
import platform
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import zstandard

MACHINE = "Linux sample-machine 6 sample x86_64"
"""Instead of what `uname` says."""

DERIVED = ("lake", "summary.json", "summary.md", ".run.lock", ".mirror.lock")
"""What any command makes again, and what only a running process needs."""

PLAIN_DISK = "disk"
DISK = re.compile(r"(?m)^(?:/dev/\S+|overlay|\S+:/\S+) +(?=\S+ +\S+ +\S+ +\d+% /$)")
"""The device in the line that `df -h /` prints."""


def scrub(runs_dir: Path, names: dict[str, str]) -> None:
    """Clean every file of the runs.

    Args:
        runs_dir: the samples.
        names: what stands for the machine's own paths, by the path.
    """
    for derived in DERIVED:
        for path in [*runs_dir.rglob(derived)]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in _texts(runs_dir):
        before = text = path.read_text()
        for name in sorted(names, key=len, reverse=True):
            text = text.replace(name, names[name])
        if path.name == "inventory.json":
            text = _inventory(text)
        if path.name.startswith("resources_"):
            text = DISK.sub(PLAIN_DISK.ljust(16), text)
        if text != before:
            path.write_text(text)


def _inventory(text: str) -> str:
    facts = json.loads(text)
    facts["host"]["uname"] = MACHINE
    facts["host"]["python"] = platform.python_version()
    return json.dumps(facts, indent=2) + "\n"


def leaks(folder: Path, more: tuple[str, ...] = ()) -> list[str]:
    """Return where something of this machine is still in a file, traces included.

    Args:
        folder: what is committed.
        more: further texts that must not be there.
    """
    own = {str(Path.home()), socket.gethostname(), platform.release(), platform.version(), *more}
    words = {"/tmp/", "/root", "/home/", "/work/", "/dev/", "/Users/", *own}  # noqa: S108
    if (user := getpass.getuser()) != "root":  # a word of Linux itself
        words.add(user)
    words = {word for word in words if len(word) > 3}
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".py":
            text = text_of(path)
            found += [f"{path.relative_to(folder)}: {word}" for word in words if word in text]
    return found


def text_of(path: Path) -> str:
    """Return the text of a file; of a compressed one, every frame of it."""
    raw = path.read_bytes()
    if path.suffix == ".zst":
        reader = zstandard.ZstdDecompressor().stream_reader(
            io.BytesIO(raw), read_across_frames=True
        )
        raw = reader.read()
    return raw.decode()


def _texts(runs_dir: Path) -> Iterator[Path]:
    for path in sorted(runs_dir.rglob("*")):
        if path.is_file() and path.suffix in {".json", ".jsonl", ".txt", ".md", ".log"}:
            yield path
