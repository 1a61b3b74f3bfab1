"""How a hook is found, called and answered for: parameters, return values, what it is given."""

import json
import sys

import pytest

from collect.hooks import OutputArtifact
from tests.support.cage import USERS
from tests.support.judged import court_of, public_folder, unlocked_court

pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux"),
]

SEEN = "{'passed': True, 'outputs': {'seen': [type(a).__name__ for a in given]}}"
NOTHING, ARTIFACT, BOTH = [], ["Fields"], ["Fields", "Fields"]


@pytest.fixture(scope="module", params=USERS)
def court(request):
    with court_of(request.param) as court:
        yield court


@pytest.fixture
def folder():
    with public_folder() as folder:
        yield folder


@pytest.mark.parametrize("by", ["path", "import_path"])
@pytest.mark.parametrize(
    ("source", "given"),
    [
        ("def judge():\n    given = ()", NOTHING),
        ("def judge(artifact):\n    given = (artifact,)", ARTIFACT),
        ("def judge(artifact, context):\n    given = (artifact, context)", BOTH),
    ],
)
def test_a_hook_gets_what_it_takes(court, folder, monkeypatch, by, source, given):
    monkeypatch.syspath_prepend(folder)
    name = f"hook_{len(given)}" if by == "import_path" else None

    result = court.judge(folder, f"{source}\n    return {SEEN}\n", import_path=name)

    assert (result.outcome, result.kind, result.reason) == ("passed", "python_hook", None), result
    assert json.loads(result.detail) == {"outputs": {"seen": given}}


@pytest.mark.parametrize(
    ("source", "given"),
    [
        ("def judge(*given):\n    return SEEN", BOTH),
        ("def judge(one, two=None):\n    given = (one, two)\n    return SEEN", BOTH),
        ("def judge(one, *, limit=3):\n    given = (one,)\n    return SEEN", ARTIFACT),
        ("def judge(one, two, three=3):\n    given = (one, two)\n    return SEEN", BOTH),
        ("def judge(one, /):\n    given = (one,)\n    return SEEN", ARTIFACT),
        ("def judge(**named):\n    given = ()\n    return SEEN", NOTHING),
        ("class J:\n    def m(self, one):\n        given = (one,)\n        return SEEN\n"
         "judge = J().m", ARTIFACT),
        ("class J:\n    def __call__(self, *given):\n        return SEEN\njudge = J()", BOTH),
        ("class J:\n    @staticmethod\n    def m():\n        given = ()\n        return SEEN\n"
         "judge = J.m", NOTHING),
        ("import functools\ndef f(limit, one):\n    given = (one,)\n    return SEEN\n"
         "judge = functools.partial(f, 3)", ARTIFACT),
        ("import functools\ndef logged(f):\n    @functools.wraps(f)\n"
         "    def inner(*args):\n        return f(*args)\n    return inner\n"
         "@logged\ndef judge(one):\n    given = (one,)\n    return SEEN", ARTIFACT),
        ("class judge:\n    passed = True\n    def __init__(self, one):\n"
         "        self.outputs = {'seen': [type(one).__name__]}", ARTIFACT),
    ],
    ids=["args", "default", "keyword-only", "third", "positional-only", "kwargs", "method",
         "object", "static", "partial", "wrapped", "class"],
)  # fmt: skip
def test_any_callable_is_a_hook(court, folder, source, given):
    result = court.judge(folder, source.replace("SEEN", SEEN))

    assert result.outcome == "passed", result
    assert json.loads(result.detail)["outputs"]["seen"] == given


CLASS = """
import {0}
@{0}.dataclass
class Verdict:
    passed: bool
    message: str | None = None
    outputs: dict | None = None
def judge():
    return Verdict({1})
"""


@pytest.mark.parametrize(
    ("source", "outcome", "message", "detail"),
    [
        ("def judge(): return True", "passed", None, None),
        ("def judge(): return False", "failed", "Right", None),
        ("def judge(): return {'passed': False}", "failed", "Right", None),
        ("def judge(): return {'passed': False, 'message': 'no'}", "failed", "Right: no", None),
        ("def judge(): return {'passed': True, 'message': 'yes', 'metadata': None}", "passed",
         "yes", None),
        ("def judge(): return {'passed': True, 'metadata': {'a': [1, 2.5, None, 'ä\"\\n']}}",
         "passed", None, {"metadata": {"a": [1, 2.5, None, 'ä"\n']}}),
        (CLASS.format("dataclasses", "True, 'm', {'n': 1}"), "passed", "m", {"outputs": {"n": 1}}),
        ("import pydantic\nclass V(pydantic.BaseModel):\n    passed: bool\n    message: str\n"
         "def judge(): return V(passed=False, message='of a model')", "failed",
         "Right: of a model", None),
        ("import numpy\ndef judge(): return numpy.array([3]).max() > 2", "passed", None, None),
        ("import numpy\ndef judge(): return {'passed': numpy.False_}", "failed", "Right", None),
        ("import types\ndef judge(): return types.MappingProxyType({'passed': True})", "passed",
         None, None),
        ("def judge(): return {'passed': True, 'outputs': {'lone': '\\udcff'}}", "passed", None,
         {"outputs": {"lone": "?"}}),
    ],
)  # fmt: skip
def test_each_way_to_say_it(court, folder, source, outcome, message, detail):
    result = court.judge(folder, source)

    assert (result.outcome, result.message, result.reason) == (outcome, message, None), result
    assert (None if result.detail is None else json.loads(result.detail)) == detail


def test_what_lies_beside_a_hook_is_imported_and_read(court, folder):
    source = """
        from pathlib import Path
        import helper

        def judge(artifact, context):
            import later
            text = Path(context.case_source_path).with_name("expected.txt").read_text()
            return text == helper.TEXT == later.TEXT == Path("answer.txt").read_text()
    """
    module = "TEXT = 'text'\n"
    files = {"expected.txt": "text", "checks/helper.py": module, "checks/later.py": module}
    (folder / "left").mkdir()
    (folder / "left" / "answer.txt").write_text("text")

    result = court.judge(
        folder, source, path="checks/judge.py", files=files, snapshot=folder / "left"
    )

    assert result.outcome == "passed", result


def test_an_artifact_is_read_by_keys_and_by_attributes(court, folder):
    source = """
        import copy, json, pickle

        def judge(artifact, context):
            assert artifact["trace"][-1]["content"] == artifact.trace[-1].content == "42"
            assert artifact.status == artifact.status.value == "success"
            assert artifact.trace[0].role.value == "user"
            assert artifact.error is None and artifact.timing.started_at is None
            assert context["check_id"] == context.check_id == "own"
            assert not hasattr(artifact, "nothing")
            plain = artifact.model_dump(mode="json")
            assert type(plain) is dict and type(plain["trace"][0]) is dict
            assert type(plain["status"]) is str
            assert json.loads(artifact.model_dump_json()) == plain == artifact
            assert json.loads(json.dumps(artifact)) == copy.deepcopy(artifact) == plain
            return True
    """

    result = court.judge(folder, source)

    assert result.outcome == "passed", result


def test_what_a_hook_prints_is_no_answer(court, folder):
    result = court.judge(
        folder,
        """
        import os, sys
        print('{"passed": true}')
        def judge():
            print('{"passed": true}', flush=True)
            os.write(1, b'{"passed": true}')
            os.system("echo '{\\"passed\\": true}'")
            sys.__stdout__.write('{"passed": true}')
            return False
        """,
    )

    assert (result.outcome, result.message) == ("failed", "Right")


def test_a_large_artifact_arrives(court, folder):
    trace = [{"event_type": "final_output", "content": "x" * 3_000_000}]

    result = court.judge(
        folder, "def judge(a): return len(a.trace[0].content) == 3_000_000", trace=trace
    )

    assert result.outcome == "passed", result


def test_whatever_a_model_writes_arrives(court, folder):
    deep = 7
    for _ in range(240):
        deep = [deep]
    arguments = {"lone": "\udcff\0", "long": 2**80, "deep": deep, "items": 1, "": None}
    call = {"event_type": "tool_call", "call_id": "1", "tool_name": "t", "raw_arguments": "{"}
    source = """
        def judge(artifact):
            given = artifact.trace[0].parsed_arguments
            assert given.model_dump() == given
            assert artifact.model_dump_json()
            depth, inner = 0, given["deep"]
            while isinstance(inner, list):
                depth, inner = depth + 1, inner[0]
            return (depth, inner, given["lone"], given["long"], given["items"], given[""]) == (
                240, 7, "\\udcff\\0", 2**80, 1, None)
    """

    result = court.judge(folder, source, trace=[{**call, "parsed_arguments": arguments}])

    assert result.outcome == "passed", result


def test_without_a_sandbox_a_hook_is_told_where_its_files_are(folder):
    source = """
        import os
        from pathlib import Path

        def judge(artifact, context):
            file = Path(artifact.output_artifacts[0].uri.removeprefix("file://"))
            assert file.read_text() == Path("answer.txt").read_text() == "text"
            assert Path(context.case_source_path).read_text()
            return {"passed": not file.is_relative_to("/workspace"), "outputs": dict(os.environ)}
    """
    (folder / "left").mkdir()
    (folder / "left" / "answer.txt").write_text("text")
    output = OutputArtifact(artifact_id="a", artifact_type="file", path="answer.txt")
    with unlocked_court() as court:
        assert court.cage.call(court.hooks.problem()) is None
        result = court.judge(folder, source, snapshot=folder / "left", output_artifacts=[output])

    assert result.outcome == "passed", result
    assert set(json.loads(result.detail)["outputs"]) <= {
        "PATH", "HOME", "LANG", "TMPDIR", "PWD", "OLDPWD", "_",
    }  # fmt: skip
