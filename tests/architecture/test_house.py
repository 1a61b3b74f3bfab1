"""What the house is held to: rooms that the import graph sees, files of one idea, small folders."""

import ast
from collections import Counter
from functools import cache
from pathlib import PurePath

import pytest

from analyze.charts import CHARTS
from analyze.exporters import EXPORTERS
from analyze.importers import IMPORTERS
from analyze.report.sections import SECTIONS
from collect.config.runners import TRACE_FORMATS
from collect.dispatch.executors import EXECUTORS
from tests.support.paths import ROOT

PACKAGES = ("analyze", "collect", "schemas")

MOST_LINES = 400
FEWEST_LINES = 80
"""Below it, a module that one neighbour alone imports is a paragraph of that neighbour."""

MOST_FILES = 15
MORE_FILES = {"analyze/commands": "a file a command"}
"""Folders with more files than others, and why."""


@cache
def files():
    """Return the lines of every module, by its path."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    }


def module_of(path):
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def importers():
    """Return who imports each module, at any place of a file."""
    known = {module_of(path): set() for path in files()}
    for path, text in files().items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    name = inner if inner in known else node.module
                    if name in known and name != module_of(path):
                        known[name].add(module_of(path))
    return known


def test_the_modules_are_found():
    assert len(files()) > 300
    assert "analyze.query.session" in importers()
    assert len(importers()["schemas.errors"]) > 100


def test_every_room_has_a_face():
    """The import graph does not see a folder without `__init__.py`, nor what it imports."""
    rooms = {str(PurePath(path).parent) for path in files()}

    assert [room for room in sorted(rooms) if f"{room}/__init__.py" not in files()] == []


def test_a_module_is_of_one_idea():
    sizes = {path: text.count("\n") for path, text in files().items()}

    assert {path: n for path, n in sizes.items() if n > MOST_LINES} == {}


def test_a_paragraph_has_no_file_of_its_own():
    found = []
    for path, text in files().items():
        if path.endswith("/__init__.py") or text.count("\n") >= FEWEST_LINES:
            continue
        users = importers()[module_of(path)]
        room = str(PurePath(path).parent).replace("/", ".")
        if len(users) == 1 and any(user.rpartition(".")[0] == room for user in users):
            found.append((path, *users))

    assert found == []


@pytest.mark.parametrize("room", sorted({str(PurePath(path).parent) for path in files()}))
def test_a_folder_can_be_taken_in_at_once(room):
    n_files = Counter(str(PurePath(path).parent) for path in files())[room]

    assert (n_files > MOST_FILES) == (room in MORE_FILES)


def test_no_module_is_left_alone():
    """Nobody imports those that are started by name, or loaded by the name in a registry."""
    by_name = {
        "analyze.__main__", "analyze.mirror", "analyze.comparison.built_records",
        "collect.__main__", "collect.hooks.child",
        "collect.sandbox.helper", "schemas.publish",
    }  # fmt: skip
    in_registries = {
        target.partition(":")[0]
        for registry in (CHARTS, EXPORTERS, IMPORTERS, SECTIONS)
        for target in registry.own.values()
    }
    in_registries |= {target.partition(":")[0] for target in EXECUTORS.values()}
    in_registries |= {one.reads.partition(":")[0] for one in TRACE_FORMATS.own.values()}
    alone = {
        module
        for module, users in importers().items()
        if not users
        and not module.startswith(
            ("analyze.commands.", "collect.checks.", "collect.providers.", "collect.runners.")
        )
        and f"{module.replace('.', '/')}/__init__.py" not in files()
    }

    assert alone - in_registries == by_name
