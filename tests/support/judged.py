"""Hooks as a run has them, over a sandbox in a thread, and a trial for them to judge."""

import contextlib
import hashlib
import os
import shutil
import sys
import sysconfig
import tempfile
import textwrap
from pathlib import Path

import pytest

from collect.hooks import Hooks, HookSubject, Python
from collect.sandbox.backends import Unlocked
from schemas.config.checks import DeterministicCheck
from schemas.config.evaluation_profile import SecurityPolicy
from tests.support.cage import PROFILE, Cage, cage_of

TRACE = (
    {"sequence": 0, "at_ms": 1, "event_type": "message", "role": "user", "content": "6 * 7?"},
    {"sequence": 1, "at_ms": 2, "event_type": "final_output", "content": "42"},
)

FACTS = {"run_id": "r", "case_id": "c", "suite_id": "s", "model_id": "m", "status": "success"}


def usable_python():
    """Return the Python of these tests, or where it lies below /root that of the system.

    Without either a test of hooks cannot be made.
    """
    running = Python.running()
    if running.closed_folder() is None:
        return running
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if shutil.which(name, path="/usr/bin") is None and not os.environ.get("CI"):
        pytest.skip(f"nobody can start {sys.executable}, and there is no /usr/bin/{name}")
    site = sysconfig.get_path("purelib")
    return Python(f"/usr/bin/{name}", (site,), (site,))


@contextlib.contextmanager
def public_folder():
    """Hold a folder that every user may look into."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


class Court:
    """Judges trials by hooks that are written down for it."""

    def __init__(self, cage, policy):
        self.cage = cage
        self.hooks = cage.call(Hooks.open(cage.sandbox, policy, usable_python()))
        self._number = 0

    def judge(
        self, folder, source, name="judge", *, import_path=None, path="judge.py", files=(), **facts
    ):
        """Return what a hook with a source finds, whose case lies in a folder.

        Args:
            folder: of cases and of modules.
            source: of the hook; None: its module is there already.
            name: of the callable.
            import_path: of its module, below the folder; None: it is a file of the case.
            path: of that file.
            files: of the case, names with their texts.
            facts: of the subject.
        """
        self._number += 1
        hook = {"import_path": import_path, "callable_name": name}
        hashes = {}
        case = folder / f"case{self._number}"
        case.mkdir()
        for place, text in {"test.yaml": "schema_version: 1\n", **dict(files)}.items():
            (case / place).parent.mkdir(parents=True, exist_ok=True)
            (case / place).write_text(text)
        if import_path is None:
            hook["path"] = path
            text = textwrap.dedent(source)
            (case / path).parent.mkdir(parents=True, exist_ok=True)
            (case / path).write_text(text)
            hashes = {"own": hashlib.sha256(text.encode()).hexdigest()}
        elif source is not None:
            (folder / f"{import_path}.py").write_text(textwrap.dedent(source))
        check = DeterministicCheck(check_id="own", description="Right.", python_hook=hook)
        return self.run(check, **{"case_folder": case, "hook_hashes": hashes, **facts})

    def run(self, check, **facts):
        subject = HookSubject(**{**FACTS, "trace": TRACE, **facts})
        return self.cage.call(self.hooks.run(check, subject))

    def close(self):
        self.cage.call(self.hooks.aclose())


@contextlib.contextmanager
def unlocked_court(profile=PROFILE):
    """Hold a court without a sandbox."""
    cage = Cage(profile, Unlocked(profile.limits))
    try:
        court = Court(cage, SecurityPolicy(allow_local_python_hooks=True))
        yield court
        court.close()
    finally:
        cage.close()


@contextlib.contextmanager
def court_of(user, profile=PROFILE, *, network="deny"):
    """Hold a court whose sandbox was started by a user."""
    policy = SecurityPolicy(allow_local_python_hooks=True, network_access=network)
    with cage_of(user, profile) as cage:
        court = Court(cage, policy)
        try:
            yield court
        finally:
            court.close()
