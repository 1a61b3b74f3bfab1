"""The page about hooks: its examples run as they stand there, and its table is that of the code."""

import json
import re
import sys

import pytest

from collect.hooks import REASONS
from collect.hooks.artifact import EVENT_FIELDS, HookSubject, artifact_of
from collect.hooks.staging import MAX_CASE_FILES, MAX_CASE_MB
from tests.support.judged import FACTS, court_of, public_folder
from tests.support.paths import ROOT

pytestmark = pytest.mark.docs

PAGE = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
RIGHT = {"report.json": '{"a": 1, "b": 2}', "solution.py": "a, b = input().split(); print(42)"}
WRONG = {"report.json": '{"a": 1}', "solution.py": "print(41)"}


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")
@pytest.mark.parametrize(
    ("files", "answer", "found"),
    [
        (RIGHT, " 42\n", [("passed", None), ("passed", {"outputs": {"n_right": 2}}),
                          ("passed", {"metadata": {"exit_code": 0}})]),
        (WRONG, "41", [("failed", None), ("failed", {"outputs": {"n_right": 1}}),
                       ("failed", {"metadata": {"exit_code": 0}})]),
        ({}, "", [("failed", None), ("failed", None), ("failed", {"metadata": {"exit_code": 2}})]),
    ],
    ids=["right", "wrong", "nothing"],
)  # fmt: skip
def test_the_examples_run(files, answer, found):
    trace = [{"event_type": "final_output", "content": answer}]
    with public_folder() as folder, court_of("root") as court:
        (folder / "left").mkdir()
        for name, text in files.items():
            (folder / "left" / name).write_text(text)
        expected_files = {"expected.json": '{"a": 1, "b": 2}'}
        facts = {"files": expected_files, "snapshot": folder / "left", "trace": trace}
        results = [court.judge(folder, example, **facts) for example in EXAMPLES]

    outcomes = [(one.outcome, one.detail and json.loads(one.detail)) for one in results]
    assert outcomes == found, results


def rows(heading):
    """Return the cells of the table that begins with a cell."""
    table = PAGE.partition(f"\n| {heading} |")[2].partition("\n\n")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE))


def test_every_reason_is_on_the_page():
    assert rows("reason") == dict(REASONS)


def test_every_field_is_on_the_page():
    artifact = artifact_of(HookSubject(**FACTS), "/workspace")
    described = rows("field")

    assert list(described) == list(artifact)
    for name in ("identity", "timing", "request", "provider", "usage", "runner_metadata"):
        assert re.findall(r"`(\w+)`", described[name]) == list(artifact[name])
    events = {kind: tuple(re.findall(r"\w+", cell)) for kind, cell in rows("`event_type`").items()}
    assert events == EVENT_FIELDS


def test_the_limits_of_a_case_are_those_of_the_page():
    assert f"at most {MAX_CASE_MB} MB and {MAX_CASE_FILES:,} files" in PAGE
