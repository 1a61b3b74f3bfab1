"""Images of OpenClaw, built by real podman from packages that stand in for its own."""

import json
import os
import subprocess
import sys

import pytest

from collect.runners.openclaw import file_system, image
from schemas.errors import EXIT_BAD_NEWS, EXIT_INTERRUPTED, EXIT_OK, ImageError
from tests.support import containers

NAME = f"localhost/benchlake-test-openclaw-{os.getpid()}:1"
ANOTHER = f"localhost/benchlake-test-openclaw-{os.getpid()}:2"
INFO = """case "$*" in *' info '*) echo '4.3.1 [memory pids]'; exit;; esac"""
NODE = '[ "$1" = --version ] && echo v24.19.0 || /bin/sh "$@"'
"""A shell in the place of Node: `openclaw` is then a script of it."""


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Writes a `node_modules` whose command says a version, and a Node for it on PATH."""
    node = tmp_path / "bin" / "node"
    node.parent.mkdir()
    node.write_text(f"#!/bin/sh\n{NODE}\n")
    node.chmod(0o755)
    monkeypatch.setenv("PATH", f"{node.parent}:{os.environ['PATH']}")

    def write(version, says=None):
        package = tmp_path / "node_modules" / "openclaw"
        link = tmp_path / "node_modules" / ".bin" / "openclaw"
        package.mkdir(parents=True, exist_ok=True)
        link.parent.mkdir(exist_ok=True)
        (package / "package.json").write_text(json.dumps({"version": version}))
        command = package / "openclaw.mjs"
        command.write_text(f"#!/usr/bin/env node\necho 'OpenClaw {says or version} (e932160)'\n")
        command.chmod(0o700)
        if not link.is_symlink():
            link.symlink_to("../openclaw/openclaw.mjs")
        return tmp_path

    return write


def built(capsys, *arguments):
    """What the command prints as JSON, and on standard error."""
    code = image.main([*arguments, "--json"])
    printed = capsys.readouterr()
    return code, json.loads(printed.out) if printed.out else None, printed.err


@pytest.fixture
def podman():
    """Removes what a test has made, those that lost their name too."""
    containers.needs("podman", "runc", "/bin/busybox")
    before = all_images()
    yield
    for number in (NAME, ANOTHER):
        subprocess.run(["podman", "rmi", "--force", number], capture_output=True, check=False)
    left = {one for one in all_images() - before if image.LABEL in labels(one)}
    assert left == set()


def all_images():
    return set(containers.lines("podman", "images", "--all", "--quiet", "--no-trunc"))


def labels(number):
    """Return what an image says of itself; of one that another test has removed since, nothing."""
    command = ("podman", "image", "inspect", number)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or "image not known" in done.stderr, done.stderr
    return done.stdout if done.returncode == 0 else ""


@pytest.mark.agents
def test_an_image_is_built_once_and_holds_the_version(packages, podman, capsys):
    arguments = ("1.2.3", "--name", NAME, "--packages", str(packages("1.2.3")))

    code, made, said = built(capsys, *arguments)
    again_code, again, _ = built(capsys, *arguments)

    assert (code, made["version"], made["is_new"]) == (EXIT_OK, "1.2.3", True)
    assert "packing the image by podman" in said
    assert (again_code, again["is_new"], again["id"]) == (EXIT_OK, False, made["id"])
    assert made["digest"].startswith(f"{NAME.rpartition(':')[0]}@sha256:")
    run = ("run", "--rm", "--network=none", "--user=1000:1000", "--ulimit=nofile=99:99")
    options = (*run, "--ulimit=nproc=99:99", NAME, "sh", "-c", "id -un; pwd; openclaw")
    runtime = containers.runtime_of("podman")
    said = containers.lines("podman", *runtime, *options)
    assert said == ["agent", "/workspace", "OpenClaw 1.2.3 (e932160)"]


@pytest.mark.agents
def test_another_version_takes_the_name_and_leaves_nothing_of_the_old_one(packages, podman, capsys):
    built(capsys, "1.2.3", "--name", NAME, "--packages", str(packages("1.2.3")))

    code, made, _ = built(capsys, "latest", "--name", NAME, "--packages", str(packages("1.2.4")))

    assert (code, made["version"], made["is_new"]) == (EXIT_OK, "1.2.4", True)


@pytest.mark.agents
def test_an_image_that_says_another_version_gets_no_name(packages, podman, capsys):
    code, _, said = built(
        capsys, "1.2.3", "--name", NAME, "--packages", str(packages("1.2.3", "0.0.1"))
    )

    assert code == EXIT_BAD_NEWS
    assert "error: openclaw in the image says version 0.0.1, not 1.2.3" in said
    assert subprocess.run(["podman", "image", "exists", NAME], check=False).returncode == 1


@pytest.mark.agents
def test_an_image_without_our_label_is_asked(packages, podman, capsys):
    """As a published one: it is not built again where it holds the version."""
    folder = str(packages("1.2.3"))
    _, made, _ = built(capsys, "1.2.3", "--name", NAME, "--packages", folder)
    started = containers.lines("podman", "create", made["id"], "sh")[0]
    change = f"LABEL {image.LABEL}="
    containers.lines("podman", "commit", "--quiet", f"--change={change}", started, ANOTHER)
    containers.lines("podman", "rm", started)

    assert built(capsys, "1.2.3", "--name", ANOTHER, "--packages", folder)[1]["is_new"] is False


@pytest.mark.agents
def test_people_read_name_size_and_digest(packages, podman, capsys):
    assert image.main(["1.2.3", "--name", NAME, "--packages", str(packages("1.2.3"))]) == EXIT_OK

    first, number, digest = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{NAME}: openclaw 1.2.3, ")
    assert "MB, built in" in first
    assert (number[:3], digest[:7]) == ("id ", "digest ")


def test_what_is_missing_is_named_with_its_cure(packages, tmp_path, monkeypatch):
    folder = packages("1.2.3")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(ImageError, match="podman is not installed; apt-get install podman runc"):
        image.build("1.2.3", "podman", None, print, packages=folder)

    (tmp_path / "bin" / "podman").write_text("#!/bin/sh\necho 4.3.1 '[memory pids]'\n")
    (tmp_path / "bin" / "podman").chmod(0o755)
    monkeypatch.setattr(file_system, "BUSYBOX", tmp_path / "busybox")
    with pytest.raises(ImageError, match="is not there: apt-get install busybox-static"):
        image.build("1.2.3", "podman", None, print, packages=folder)


def test_the_packages_of_another_version_are_refused(packages, capsys):
    containers.needs("podman", "/bin/busybox")

    code, _, said = built(capsys, "1.2.3", "--packages", str(packages("1.2.4")))

    assert code == EXIT_BAD_NEWS
    assert "holds openclaw 1.2.4, not 1.2.3: npm install" in said


def test_a_client_that_cannot_import_says_why(packages, tmp_path, capsys):
    containers.needs("/bin/busybox")
    folder = packages("1.2.3")
    client = tmp_path / "bin" / "podman"
    error = "Error: cannot find UID/GID for user: no subuid ranges found for user in /etc/subuid"
    client.write_text(f"#!/bin/sh\n{INFO}\n[ $1 = import ] && echo '{error}' >&2\nexit 125\n")
    client.chmod(0o755)

    code, _, said = built(capsys, "1.2.3", "--packages", str(folder))

    assert code == EXIT_BAD_NEWS
    assert "podman cannot import the image: Error: cannot find UID/GID" in said
    assert "usermod --add-subuids" in said


def test_an_interruption_is_no_failure_of_the_client(packages, tmp_path):
    """A terminal interrupts both."""
    containers.needs("/bin/busybox")
    folder = packages("1.2.3")
    client = tmp_path / "bin" / "podman"
    client.write_text(f"#!/bin/sh\n{INFO}\n[ $1 = import ] && sleep 1 && kill -INT $PPID\nexit 1\n")
    client.chmod(0o755)
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    done = subprocess.run(
        [sys.executable, "-m", image.__name__, "1.2.3", "--packages", str(folder)],
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == EXIT_INTERRUPTED
    assert done.stderr.endswith("interrupted: nothing is left of the image\n")
    assert list(temporary.iterdir()) == []
