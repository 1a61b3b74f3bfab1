"""Names of any bytes as text, and the record of a workspace."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.run.workspace import Workspace, WorkspaceChange, WorkspaceEntry, spelled, unspelled

NAMES = st.lists(
    st.sampled_from([b"\\", b"x", b"5", b"c", b"f", b"\xff", b"\xc3", b"\xa9", b"\n", b"\x00"])
    | st.binary(max_size=3)
).map(b"".join)


@given(NAMES)
@example(b"\\xff")
@example(b"\xff")
@example(b"\\x5cxff")
@example(b"\\\xff")
@example(b"\\x\xffff")
@example("\ud800".encode("utf-8", "surrogatepass"))
def test_a_name_is_text_that_stands_for_it_alone(name):
    text = spelled(name)

    assert unspelled(text) == name
    assert json.loads(json.dumps(text).encode()) == text


@given(st.text(st.characters(codec="utf-8"), max_size=20).filter(lambda text: "\\x" not in text))
def test_what_is_utf_8_is_itself(text):
    assert spelled(text.encode()) == text
    assert unspelled(text) == text.encode()


def test_texts_that_are_no_names_stand_for_something():
    assert unspelled("\ud800") == b"\xed\xa0\x80"
    assert unspelled("a\\xFFb\\xg1") == b"a\\xFFb\\xg1", "only as it is written here"


def test_a_record_comes_back():
    names = [b"\xff", b"a\nb", "\u202e".encode()]
    entries = tuple(
        WorkspaceEntry(path=spelled(name), kind="file", size=2**63 - 1, left_out="too_large")
        for name in names
    )
    record = Workspace(entries=entries, changes=(), is_complete=False, diff_truncated=False)

    assert Workspace.model_validate_json(record.model_dump_json()) == record


@pytest.mark.parametrize(("change", "old_path"), [("renamed", None), ("added", "x")])
def test_what_is_renamed_has_an_old_path_and_nothing_else_has(change, old_path):
    with pytest.raises(ValidationError, match="old_path"):
        WorkspaceChange(path="p", change=change, old_path=old_path, kind="file")
