"""Commands that nothing locks in: what holds all the same."""

import os
import sys
import time

import psutil
import pytest

from collect.sandbox.backends import BACKENDS, backend_of
from schemas.config.sandbox import BackendName, SandboxProfile
from tests.support.cage import LIMITS, OTHER_USER, PROFILE, USERS, Cage, helper_of

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="limits are set as on Linux")


@pytest.fixture(params=USERS)
def user(request):
    return request.param


@pytest.fixture
def free(user):
    """A cage without bars."""
    with helper_of(user):
        cage = Cage(PROFILE, backend_of(PROFILE, unsafe=True))
    yield cage
    cage.close()


def text(output):
    return output.data.decode()


def sleepers(seconds):
    found = (one.info["cmdline"] for one in psutil.process_iter(["cmdline"]))
    return [line for line in found if line == ["sleep", seconds]]


@linux_only
def test_a_command_begins_in_its_workspace_with_an_environment_of_ours(free, user, monkeypatch):
    monkeypatch.setenv("SOME_SETTING", "canary")
    folders = free.folders()

    done = free.sh("pwd; id -u; ls /proc/self/fd | wc -l; env; cat; exit 7", folders, stdin=b"END=")

    where, who, n_handles, *variables = text(done.stdout).splitlines()
    assert (done.exit_code, done.ended_by) == (7, "exit")
    assert where == str(folders.workspace)
    nobody = {"root": 65_534, "unprivileged": OTHER_USER}[user]
    assert int(who) == (nobody if os.geteuid() == 0 else os.geteuid())
    assert int(n_handles) == 4  # of `ls` itself one more than the three
    named = dict(line.split("=", 1) for line in variables)
    assert named.keys() <= {"PATH", "HOME", "TMPDIR", "LANG", "PWD", "OLDPWD", "SHLVL", "_", "END"}
    assert (named["HOME"], named["TMPDIR"]) == (str(folders.home), str(folders.tmp))


@linux_only
def test_what_it_began_ends_with_it(free):
    ended = free.sh("sleep 41.4213 & (sleep 41.4213 & setsid sleep 41.4213) & exit 0")
    late = free.sh("sleep 41.4213 & (sleep 41.4213 & sleep 41.4213) & sleep 41.4213", timeout_s=0.5)
    deadline = time.monotonic() + 2
    while sleepers("41.4213") and time.monotonic() < deadline:
        time.sleep(0.01)

    assert (ended.exit_code, late.ended_by) == (0, "time")
    assert sleepers("41.4213") == []


@linux_only
@pytest.mark.parametrize(
    ("script", "ended_by"),
    [
        ("yes", "output"),
        ("for i in $(seq 10); do head -c 15M /dev/zero > f$i; done; sleep 20", "workspace"),
        ("for i in $(seq 50); do sleep 20 & done; wait", "processes"),
        ("head -c 50M /dev/zero > large", "workspace"),
    ],
)
def test_limits_hold(free, script, ended_by):
    assert free.sh(script).ended_by == ended_by


@linux_only
def test_a_command_cannot_tell_how_it_ended(free):
    done = free.sh("echo '{\"exit-code\": 0}' >&3; exit 3")

    assert done.exit_code == 3


def test_each_name_of_a_profile_is_a_backend():
    assert set(BACKENDS) == set(BackendName.__args__)
    for name in BACKENDS:
        image = None if name == "bwrap" else "python:3.12.4"
        profile = SandboxProfile(backend=name, image=image, limits=LIMITS)
        backend = backend_of(profile)
        assert (backend.name, backend.limits, backend.is_engine) == (
            name,
            LIMITS,
            image is not None,
        )
    assert backend_of(PROFILE, unsafe=True).name == "none"
