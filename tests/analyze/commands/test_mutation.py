"""The mutation run chooses the same mutants again, and finds them in later code."""

import json
import sys

import pytest

from tests.support.paths import ROOT

TEXT = '''"""Docstring with 1 < 2."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    LIMIT = 1

__slots__ = ("a",)


def near(a: "list[1]", b=2):
    """Not 3."""
    assert a is not None
    if a < b and not b["key"]:
        note(f"said {a}")
        raise ValueError("only a message")
    for one in a:
        if one:
            continue
        break
    return a + b
'''


@pytest.fixture
def tools(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import mutants
    import mutation

    yield mutants, mutation
    for name in ("mutants", "mutant_rooms", "mutation"):
        sys.modules.pop(name)


def test_every_kind_of_change_is_found_and_what_does_nothing_is_not(tools):
    found = {(one.line, one.original, one.replacement) for one in tools[1].mutants_of("a.py", TEXT)}

    assert found == {
        (10, "2", "3"),
        (10, "2", "1"),
        (13, 'a < b and not b["key"]', '(not (a < b and not b["key"]))'),
        (13, "and", "or"),
        (13, "<", "<="),
        (13, "<", ">="),
        (13, 'not b["key"]', '(b["key"])'),
        (13, '"key"', "'key_'"),
        (14, 'note(f"said {a}")', "pass"),
        (15, 'raise ValueError("only a message")', "pass"),
        (17, "one", "(not (one))"),
        (18, "continue", "break"),
        (19, "break", "continue"),
        (20, "return a + b", "return None"),
        (20, "+", "-"),
    }


def test_the_order_does_not_depend_on_what_stands_elsewhere(tools):
    _, mutation = tools
    before = mutation.in_order(mutation.mutants_of("a.py", TEXT), 1)
    later = "import os\n" + TEXT.replace("a + b", "a * b")
    after = mutation.in_order(mutation.mutants_of("a.py", later), 1)

    keys = [one.key for one in after if "a * b" not in one.line_text]
    assert keys == [one.key for one in before if "a + b" not in one.line_text]
    assert len({one.line for one in before}) == len(before), "two on one line"
    assert keys != [one.key for one in mutation.in_order(mutation.mutants_of("a.py", TEXT), 2)]


def test_a_mutant_is_found_by_its_line_and_its_occurrence(tools):
    _, mutation = tools
    text = "a = 1\nb = 5\na = 1\n"
    second = next(
        one for one in mutation.mutants_of("a.py", text) if one.occurrence == 1 and one.line == 3
    )

    assert second.applied("# new\n" + text) == f"# new\na = 1\nb = 5\na = {second.replacement}\n"
    assert second.applied("a = 1\nb = 5\n") is None
    assert second.applied("") is None


def test_rooms_get_as_many_each_and_the_rest_of_one_that_is_empty_goes_round(tools):
    assert tools[1].share_out(10, [9, 1, 9]) == [5, 1, 4]
    assert tools[1].share_out(10, [2, 2]) == [2, 2]


def test_a_written_list_is_taken_to_later_code_and_says_what_is_gone(tools, tmp_path, capsys):
    mutants, mutation = tools
    room = mutants.ROOMS[3]
    (name,) = room.files
    ordered = {room.name: mutation.in_order(mutants.found(room, ()), 1)}
    first, second, third = ordered[room.name][:3]
    gone = mutation.Mutant(**{**vars(first), "line_text": "a line of an earlier day"})
    chosen = tmp_path / "chosen.json"
    chosen.write_text(json.dumps([vars(gone), vars(second)]))

    assert [one.key for one in mutants.listed(chosen, ordered, quiet=False)] == [
        first.key,
        second.key,
    ]
    assert f"gone: {name}: a line of an earlier day" in capsys.readouterr().out
    assert third.file == name


def test_every_room_has_its_files_and_its_tests(tools):
    for room in tools[0].ROOMS:
        assert all(list(ROOT.glob(pattern)) for pattern in room.files), room.name
        missing = [name for name in room.tests if not (ROOT / name).is_file()]
        assert not missing, room.name
