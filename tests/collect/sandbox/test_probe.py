"""The probe tells a sandbox that holds from one that does not: the real one without a part."""

import asyncio
import sys

import pytest

from collect.sandbox import Bwrap
from collect.sandbox.probe import LINUX_ONLY, probe
from schemas.config.sandbox import DEFAULT_SANDBOX
from tests.support.cage import USERS, helper_of, require_bwrap, temporary_folder

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")


def probed(backend):
    return asyncio.run(probe(DEFAULT_SANDBOX, backend))


PROGRAMS = [
    word
    for name in ("/usr/bin", "/usr/lib", "/usr/lib64")
    for word in ("--ro-bind-try", name, name)
]


class Changed(Bwrap):
    """Bubblewrap with other arguments."""

    def __init__(self, change):
        super().__init__(DEFAULT_SANDBOX.limits)
        self._change = change

    def argv(self, command, folders, name):
        return self._change(super().argv(command, folders, name))


def without(*flags):
    return lambda argv: [word for word in argv if word not in flags]


def adding(*words):
    """Put something on top of what is mounted, before the root is made read-only."""

    def change(argv):
        place = argv.index("--remount-ro", argv.index("/dev") + 1)
        place = next(i for i in range(place, len(argv)) if argv[i : i + 2] == ["--remount-ro", "/"])
        return [*argv[:place], *words, *argv[place:]]

    return change


@LINUX
@pytest.mark.parametrize("user", USERS)
def test_the_real_sandbox_holds(user):
    require_bwrap()

    with helper_of(user):
        holds = probed(Bwrap(DEFAULT_SANDBOX.limits))

    assert (holds.problem, holds.advice) == (None, "")
    assert holds.backend == "bwrap"
    assert holds.version.startswith("bubblewrap ")


@LINUX
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (without("--unshare-net"), "reaches the network"),
        (adding("--bind", "/tmp", "/tmp"), "writes outside"),
        (adding("--tmpfs", "/usr", *PROGRAMS), "writes to /usr"),
        (adding("--setenv", "BENCHLAKE_PROBED", "value"), "sees the environment"),
        (adding("--remount-ro", "/workspace"), "cannot write to its workspace"),
        (adding("--tmpfs", "/usr"), "prlimit"),
    ],
    ids=["network", "outside", "system", "environment", "workspace", "no system"],
)
def test_a_sandbox_with_a_hole_is_found(change, says, monkeypatch):
    require_bwrap()
    monkeypatch.setenv("BENCHLAKE_PROBED", "value")
    with temporary_folder():
        holds = probed(Changed(change))

    assert holds.problem is not None
    assert says in holds.problem


@LINUX
def test_a_bwrap_that_is_not_there_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    holds = probed(Bwrap(DEFAULT_SANDBOX.limits))

    assert (holds.problem, holds.version) == ("bubblewrap is not installed", "")
    assert holds.advice == "apt-get install bubblewrap"


def test_elsewhere_than_on_linux_a_container_is_advised(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")

    holds = probed(Bwrap(DEFAULT_SANDBOX.limits))

    assert "Linux only" in holds.problem
    assert holds.advice == LINUX_ONLY
