"""Which Node an image gets, and what npm is asked: with commands that stand in for both."""

import json
import os

import pytest

from collect.local import wheels
from collect.runners.openclaw import node
from collect.runners.openclaw.node import NodeTools, Release, is_in_range
from schemas.errors import ImageError


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Makes commands, the only ones on PATH beside the system's shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def make(name, script, folder=folder):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def wheel(commands, monkeypatch):
    """A wheel with a Node that says this version, with and without npm."""

    def make(version, *, has_npm=True):
        def download(package, folder):
            commands(node.WHEEL_NODE.name, f"echo v{version}", folder / node.WHEEL_NODE.parent)
            (folder / node.WHEEL_NODE).chmod(0o644)  # as it is unpacked
            if has_npm:
                (folder / node.WHEEL_NPM).parent.mkdir(parents=True)
                (folder / node.WHEEL_NPM).touch()

        monkeypatch.setattr(wheels, "download", download)

    return make


NEWEST = ">=24.16.0 <25 || >=26.1.0"


@pytest.mark.parametrize(
    ("version", "allowed", "fits"),
    [
        ("20.20.2", ">=22.19.0", False),
        ("22.19.0", ">=22.19.0", True),
        ("24.16.0", NEWEST, True),
        ("25.0.0", NEWEST, False),
        ("26.0.9", NEWEST, False),
        ("26.1.0", NEWEST, True),
        ("24.19.0", ">= 24", True),
        ("24.19.0-nightly", ">=24.19", True),
        ("24.0.0", "24.0.0", True),
        ("24.0.1", "=24.0.0", False),
        ("24.0.1", ">24.0.0 <=24.0.1", True),
        ("1.0.0", "", True),
        ("1.0.0", "*", True),
        ("22.1.0", "^22.0.0", False),
        ("no number", "", False),
    ],
)
def test_a_range_of_a_package_is_read(version, allowed, fits):
    assert is_in_range(version, allowed) == fits


def test_the_node_on_path_is_taken_where_it_is_new_enough(commands, wheel, tmp_path):
    commands("node", "echo v22.20.0")
    said = []

    tools = node.choose_tools(Release("2026.5.28", ">=22.19.0"), tmp_path, said.append)

    assert tools == NodeTools(tmp_path / "bin/node", None)
    assert said == ["taking Node 22.20.0 from PATH"]


@pytest.mark.parametrize("has_npm", [True, False])
def test_an_old_node_gives_way_to_the_one_of_a_wheel(commands, wheel, tmp_path, has_npm):
    commands("node", "echo v20.20.2")
    own = commands("npm", "exit 1")
    wheel("24.19.0", has_npm=has_npm)
    said = []

    tools = node.choose_tools(Release("2026.9.6", NEWEST), tmp_path, said.append)

    assert tools.node == tmp_path / node.WHEEL_NODE
    assert os.access(tools.node, os.X_OK)
    assert tools.npm == (tmp_path / node.WHEEL_NPM if has_npm else own)
    assert "Node 20.20.2 on PATH is too old or too new" in said[0]


def test_a_wheel_that_is_too_old_is_not_taken(commands, wheel, tmp_path):
    wheel("24.1.0")

    with pytest.raises(
        ImageError, match=r"needs Node >=24\.16\.0 <25 \|\| >=26\.1\.0, and neither"
    ):
        node.choose_tools(Release("2026.9.6", NEWEST), tmp_path, print)


def test_a_range_that_cannot_be_read_refuses_no_node_of_the_wheel(commands, wheel, tmp_path):
    wheel("24.1.0")

    tools = node.choose_tools(Release("2027.1.1", "^24"), tmp_path, lambda _: None)

    assert tools.node == tmp_path / node.WHEEL_NODE


def test_a_wheel_that_cannot_be_fetched_says_what_else_would_do(commands, tmp_path, monkeypatch):
    def download(package, folder):
        why = "no matching distribution"
        raise wheels.WheelError(why)

    monkeypatch.setattr(wheels, "download", download)

    with pytest.raises(ImageError, match=r"(?s)no matching distribution.*newer Node"):
        node.choose_tools(Release("2026.9.6", NEWEST), tmp_path, lambda _: None)


def test_npm_says_which_version_a_tag_means(commands, tmp_path):
    manifest = {"version": "2026.9.6", "engines": {"node": NEWEST}}
    commands("node", "echo v20.20.2")
    commands("npm", f"[ \"$2\" = openclaw@latest ] && echo '{json.dumps(manifest)}'")

    assert node.published("latest", tmp_path, print) == Release("2026.9.6", NEWEST)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo 'npm error 404 No match found for version 9' >&2; exit 1", "404 No match found"),
        ("exit 0", "npm knows no openclaw 9: name one exactly"),
    ],
)
def test_a_version_that_npm_does_not_know_is_an_error(commands, tmp_path, script, says):
    commands("node", "echo v20.20.2")
    commands("npm", script)

    with pytest.raises(ImageError, match=says):
        node.published("9", tmp_path, print)


def test_packages_are_installed_by_the_node_that_was_chosen(commands, tmp_path):
    """Scripts of packages find it before the one on PATH."""
    inner = commands("node", f'echo "$PATH $*" > {tmp_path}/asked', tmp_path / "own")
    script = tmp_path / "npm-cli.js"

    made = node.install(Release("1.2.3", ""), NodeTools(inner, script), tmp_path, lambda _: None)

    asked = (tmp_path / "asked").read_text().split()
    assert made == tmp_path / "node_modules"
    assert asked[0].startswith(f"{inner.parent}:")
    assert (asked[1], asked[2], asked[-1]) == (str(script), "install", "openclaw@1.2.3")


def test_npm_that_fails_or_is_missing_says_why(commands, tmp_path):
    old = commands("node", "echo v24.0.0")
    git = commands("npm", "echo 'npm error command git ls-remote' >&2; exit 128")
    release = Release("2026.4.15", "")

    with pytest.raises(ImageError, match=r"(?s)cannot install openclaw 2026\.4\.15.*ls-remote"):
        node.install(release, NodeTools(old, git), tmp_path, lambda _: None)
    with pytest.raises(ImageError, match="apt-get install npm"):
        node.install(release, NodeTools(old, None), tmp_path, lambda _: None)


def test_the_empty_package_is_told_from_a_real_one(tmp_path):
    package = tmp_path / "openclaw" / "package.json"
    package.parent.mkdir()
    package.write_text('{"version": "0.0.1"}')
    with pytest.raises(ImageError, match="an empty package that npm chooses on an old Node"):
        node.installed(tmp_path)

    package.write_text('{"version": "2026.5.28", "engines": {"node": ">=22.19.0"}}')
    assert node.installed(tmp_path) == Release("2026.5.28", ">=22.19.0")

    package.write_text("[]")
    with pytest.raises(ImageError, match="holds no openclaw: npm install"):
        node.installed(tmp_path)


def test_a_folder_keeps_what_was_installed_and_is_asked_again_only_for_a_tag(commands, tmp_path):
    """Its `bin` is what a local agent is started from."""
    manifest = json.dumps({"version": "1.2.3", "engines": {"node": ">=22"}})
    commands("node", "echo v24.0.0")
    npm = f"""echo "$1" >> {tmp_path}/asked
[ "$1" = view ] && echo '{manifest}' && exit
PATH=/usr/bin:/bin; mkdir -p "$3/node_modules/openclaw" "$3/node_modules/.bin"
echo '{manifest}' > "$3/node_modules/openclaw/package.json"
touch "$3/node_modules/.bin/openclaw\""""
    commands("npm", npm)
    folder = tmp_path / "kept"

    parts = [node.kept(version, folder, lambda _: None) for version in ("1.2.3", "1.2.3", "latest")]

    release = Release("1.2.3", ">=22")
    assert parts == 3 * [node.Parts(release, tmp_path / "bin/node", folder / "node_modules")]
    assert (tmp_path / "asked").read_text().split() == ["view", "install", "view"]
    assert (folder / "bin/node").resolve() == tmp_path / "bin/node"
    assert (folder / "bin/openclaw").exists()


def test_a_folder_that_cannot_be_written_is_an_error(commands, tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(ImageError, match="file/kept cannot be written"):
        node.kept("1.2.3", tmp_path / "file" / "kept", print)
