"""The scratch folder of a helper: made, locked, and removed, whoever has died.

`benchlake-sandbox-<random>` in the folder for temporary files, closed to other users. A lock says
that its helper lives; a helper that starts removes the folders of those that do not.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import signal
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from collect.workspace import HOME

PREFIX = "benchlake-sandbox-"
OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

USER_ID = 1000
USER = "agent"
"""Who a command is inside."""

ETC_FILES = {
    "passwd": f"{USER}:x:{USER_ID}:{USER_ID}::{HOME}:/bin/sh\n",
    "group": f"{USER}:x:{USER_ID}:\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "resolv.conf": "",
}
"""What we make of the /etc that a command sees."""

ETC_COPIES = ("ld.so.cache", "localtime", "mime.types", "ssl/openssl.cnf")
"""What is copied there of this machine's, where it is there."""

ETC_FOLDERS = (
    *("alternatives", "crypto-policies"),
    *("ssl/certs", "pki/tls/certs", "pki/ca-trust/extracted"),
)
"""What is bound there of this machine's; no keys are in any."""

GONE_S = 1.0
"""How long what was killed may take to go."""

UNPRIVILEGED = 65_534
"""The user and the group `nobody`."""

MAX_AT_ONCE = 32
"""Files of a folder that are removed while others wait."""

PARTS = ("workspace", "home", "tmp")
"""The folders of a trial."""

REMOVE = """
rm -rf -- "$1" 2>/dev/null && exit
chmod -R u+rwx -- "$1" 2>/dev/null
rm -rf -- "$1"
"""
"""For /bin/sh: deep trees are no trouble to `rm`, folders without permission are to any but root.
Neither follows a link."""

REMOVAL_ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


class Scratch:
    """A folder that is locked as long as this process lives."""

    def __init__(self) -> None:
        """Make it.

        Raises:
            OSError: there is no folder for temporary files that this user can write to.
        """
        parent = Path(tempfile.gettempdir())
        while True:
            self.path = parent / f"{PREFIX}{secrets.token_hex(8)}"
            self.path.mkdir(mode=0o700)
            self._lock = _locked(self.path)
            if self._lock is not None:
                break
        self._trials = 0
        _write_etc(self.path / "etc")

    def add_trial(self) -> Path:
        """Make the folders of a trial and return the one that holds them."""
        self._trials += 1
        folder = self.path / f"trial-{self._trials}"
        folder.mkdir(mode=0o700)
        for part in PARTS:
            (folder / part).mkdir(mode=0o700)
            if os.geteuid() == 0:  # for a container engine; what runs inside is never root
                os.chown(folder / part, UNPRIVILEGED, UNPRIVILEGED)
        return folder

    def remove(self) -> None:
        """Remove it with all that is in it."""
        os.waitpid(begin_removal(self.path), 0)


def _write_etc(folder: Path) -> None:
    """Make the /etc of all commands: one folder, since each thing that is bound takes its time."""
    folder.mkdir()
    for name in ETC_FOLDERS:
        if Path("/etc", name).exists():
            (folder / name).mkdir(parents=True)
    for name in ETC_COPIES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError, PermissionError):
            (folder / name).write_bytes(Path("/etc", name).read_bytes())
    for name, text in ETC_FILES.items():
        (folder / name).write_text(text, encoding="utf-8")


def removed_at_once(trial: Path) -> bool:
    """Remove the folders of a trial that hold a few files and no folders; False: something stays.

    That is what most trials leave, and starting a process for it takes longer than a command.
    """
    try:
        for part in PARTS:
            with os.scandir(trial / part) as entries:
                paths = [entry.path for entry in islice(entries, MAX_AT_ONCE + 1)]
            if len(paths) > MAX_AT_ONCE:
                return False
            for path in paths:
                os.unlink(path)  # noqa: PTH108 - any bytes
            (trial / part).rmdir()
        trial.rmdir()
    except OSError:  # a folder, or one that forbids it
        return False
    return True


def begin_removal(folder: Path) -> int:
    """Start to remove a folder, whatever a model has made of it; return the number of the child."""
    argv = ["/bin/sh", "-c", REMOVE, "sh", str(folder)]
    return os.posix_spawn(argv[0], argv, REMOVAL_ENVIRONMENT)


def dead_ones(own: Path) -> Iterator[Path]:
    """Yield the scratch folders of this user whose helper is gone."""
    for path in own.parent.glob(f"{PREFIX}*"):
        if path == own:
            continue
        with contextlib.suppress(OSError):
            facts = path.lstat()
            if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid():
                continue
            handle = _locked(path)
            if handle is not None:
                yield path
                os.close(handle)


def end_commands(folders: Sequence[Path]) -> None:
    """End what helpers that were killed left running, and wait a moment for it to be gone.

    bwrap ends with its parent, but not where that died in the few milliseconds before it asked the
    kernel for this.
    """
    if not folders:
        return
    trials = tuple(os.fsencode(folder) + b"/" for folder in folders)
    left = [pid for pid in _processes() if _is_command(pid, trials)]
    for pid in left:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + GONE_S
    while time.monotonic() < deadline and any(_is_command(pid, trials) for pid in left):
        time.sleep(GONE_S / 100)


def _processes() -> Iterator[int]:
    with contextlib.suppress(OSError), os.scandir("/proc") as entries:
        yield from (int(entry.name) for entry in entries if entry.name.isdecimal())


def _is_command(pid: int, trials: tuple[bytes, ...]) -> bool:
    """Return whether a process is bwrap with a path that begins as one of some trials' do."""
    try:
        name, *words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return name.endswith(b"/bwrap") and any(word.startswith(trials) for word in words)


def is_abandoned(path: Path) -> bool:
    """Return whether no helper uses a scratch folder; one that is gone nobody uses."""
    try:
        handle = _locked(path)
    except OSError:
        return False
    if handle is not None:
        os.close(handle)
    return handle is not None or not path.exists()


def _locked(path: Path) -> int | None:
    """Return a handle of a folder with its lock; None when another process has that, or removes it.

    Between making a folder and locking it another helper may take it for one of the dead.
    """
    try:
        handle = os.open(path, OPEN_FOLDER)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_nlink > 0:
            return handle
    except BlockingIOError:
        pass
    os.close(handle)
    return None
