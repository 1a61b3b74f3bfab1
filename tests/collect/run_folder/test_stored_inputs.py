"""Stored cases and models are what was planned, exactly, or the run is not gone on with."""

import tracemalloc
from dataclasses import fields, replace
from pathlib import Path

import orjson
import pytest
import zstandard

from collect.config.resolved import LoadedCase
from collect.execute.spec import RunRequest, new_spec, run_config_of
from collect.execute.tools import RunTools
from collect.plan.plan import make_plan
from collect.run_folder.log import RunLog
from collect.run_folder.stored_inputs import (
    CASES_FILE,
    models_of,
    read_cases,
    verified_trials,
    write_cases,
)
from schemas.config.case import Case
from schemas.errors import NotResumable
from schemas.redact import _secret_marks, _secret_values
from schemas.run.config import load_run_config
from tests.support.run_rows import inventory

AGAIN = "collect run --suite s --run-profile p --reuse"
USER = {"role": "user", "content": "Zähle \u202e bis 3.\n\t\0 \U0001f600"}
VALIDATORS = [
    {"type": "noop"},
    {"type": "exact", "value": " x "},
    {"type": "one_of", "values": ["a", "b"]},
    {"type": "regex_fullmatch", "pattern": r"\d+(?i:x)\\"},
    {"type": "contains", "value": " x "},
    {"type": "contains", "values": ["a", "b"], "match": "any"},
    {"type": "not_contains", "values": ["a"]},
    {"type": "regex_search", "pattern": r"\d+"},
    {"type": "number", "value": 1.0, "tolerance": 1, "occurrence": "only"},
    {"type": "number", "value": 2**60},
    {"type": "max_words", "value": 3},
    {"type": "max_sentences", "value": 0},
    {"type": "exact_bullets", "value": 2},
    {"type": "json_keys", "required_keys": ["a"]},
    {
        "type": "json_keys",
        "key_rules": {
            "a": {"type": "integer"},
            "b": [{"type": "one_of", "values": [1, 1.0, None, [1], {"x": True}]}],
            "c": [{"type": "regex", "pattern": "x"}, {"type": "string"}],
            "d": {"type": "range", "min": 1, "max": 2.5},
            "e": {"type": "range", "min": -1.0},
        },
    },
    {"type": "tool_invocation", "expected_tools": ["ls", "cat"]},
]
DECLARATIVE = [
    {"kind": "final_response_present"},
    {"kind": "tool_call_count", "count": 2},
    {"kind": "file_exists", "path": "a.txt"},
    {"kind": "file_contains", "path": "/tmp/a", "text": "t"},
    {"kind": "path_exists", "path": "sub/b"},
    {"kind": "status_is", "status": "timed_out"},
    {"kind": "output_artifact_present", "artifact_type": "x", "uri": "file:x"},
    {"kind": "openclaw_workspace_file_present", "relative_path": "a", "contains_all": ["É"]},
    {"kind": "openclaw_workspace_file_present", "relative_path": "a", "contains": "c"},
]
RUBRIC = {
    "scale": {"min": 1, "max": 5.5, "anchors": {"1": "poor", "5": "good"}},
    "criteria": [{"name": "n", "what_good_looks_like": "g", "what_bad_looks_like": "b"}],
    "scoring_instructions": "s",
}
EXPECTATIONS = {
    "hard_expectations": [{"text": "t", "weight": 2, "metadata": {"a": [1, None]}}],
    "soft_expectations": [{"text": "u", "weight": 0.1}],
}


@pytest.fixture
def run_dir(tmp_path):
    folder = tmp_path / "runs" / "r"
    folder.mkdir(parents=True)
    return folder


def round_trip(run_dir, *cases):
    write_cases(run_dir / CASES_FILE, cases, "advice")
    return tuple(read_cases(run_dir / CASES_FILE).values())


def loaded(project, **case_fields):
    project.case(**case_fields)
    (case,) = project.load(skip=True).cases
    return case


@pytest.mark.parametrize("validator", VALIDATORS, ids=str)
def test_every_validator_comes_back_as_it_was(project, run_dir, validator):
    case = loaded(project, validator=validator)

    assert round_trip(run_dir, case) == (case,)
    assert repr(round_trip(run_dir, case)) == repr((case,)), "1 and 1.0 are equal to Python"


@pytest.mark.parametrize("check", DECLARATIVE, ids=str)
def test_every_check_comes_back_as_it_was(project, run_dir, check):
    checks = [{"check_id": "c", "description": "d", "dimensions": ["task"], "declarative": check}]
    case = loaded(project, deterministic_checks=checks)

    assert round_trip(run_dir, case) == (replace(case, unbuilt=()),)


def test_every_field_of_a_case_comes_back_as_it_was(project, run_dir):
    for name, text in (("a.txt", "Anhang é"), ("h.py", "def judge(trial): ...")):
        project.write(f"configs/cases/group/one/{name}", text)
    hooks = [
        {"check_id": "h", "python_hook": {"path": "h.py", "callable_name": "judge"}},
        {"check_id": "i", "python_hook": {"import_path": "a.b", "callable_name": "judge"}},
    ]
    case = loaded(
        project,
        runner={"type": "llm_probe", "temperature": 1.5, "max_tokens": 7, "seed": 3},
        input={
            "messages": [{"role": "system", "content": "s", "name": "n"}, USER],
            "attachments": ["a.txt"],
            "context": {
                "mine": {"a": [1, 2.5, None, True, "x"]},
                "openclaw": {"expected_artifact": ["x", "y"]},
            },
        },
        validator={"type": "exact", "value": "x"},
        expected_tool_calls=["ls"],
        deterministic_checks=hooks,
        expectations=EXPECTATIONS,
        rubric=RUBRIC,
        tags=["t", "ü"],
        cluster="django/django",
    )
    case = replace(
        case,
        turns=({"role": "user", "content": "later"},),
        runner_type="openclaw",
        has_workspace=True,
        unavailable="no such runner",
        unbuilt=(),
    )
    plain = LoadedCase("p", "P 0", None, case.messages, None, (), ())
    empty = [field.name for field in fields(case) if not getattr(case, field.name)]
    assert empty == ["unbuilt"], "the case has something in every field that is stored"

    assert round_trip(run_dir, case, plain) == (case, plain)


def test_the_folder_of_a_case_is_stored_by_where_it_lies_from_the_run(project, run_dir):
    case = loaded(project)

    write_cases(run_dir / CASES_FILE, [case], "advice")

    raw = text_of(run_dir)
    assert str(project.root.parent) not in raw
    assert orjson.loads(raw)["folder"].startswith("../../project/configs/cases/")
    assert read_cases(run_dir / CASES_FILE)["one"].folder == case.folder


def test_a_run_folder_named_from_the_working_directory_finds_the_same_folder(
    project, run_dir, monkeypatch
):
    case = loaded(project)
    monkeypatch.chdir(run_dir.parents[1])

    assert round_trip(Path("runs/r"), case) == (case,)


def text_of(run_dir):
    raw = (run_dir / CASES_FILE).read_bytes()
    return zstandard.ZstdDecompressor().decompressobj().decompress(raw).decode()


@pytest.fixture
def secret(monkeypatch):
    """A key that this machine knows."""
    for known in (_secret_values, _secret_marks):
        known.cache_clear()
    monkeypatch.setenv("SOME_API_KEY", "correct-horse-battery")
    yield "correct-horse-battery"
    for known in (_secret_values, _secret_marks):
        known.cache_clear()


@pytest.mark.parametrize("where", ["messages", "validator", "rubric"])
def test_a_secret_in_a_case_is_not_stored(project, run_dir, secret, where):
    change = {
        "messages": {"input": {"messages": [{"role": "user", "content": f"Use\n{secret}"}]}},
        "validator": {"validator": {"type": "exact", "value": secret}},
        "rubric": {"rubric": {"scoring_instructions": f"not {secret}"}},
    }[where]

    write_cases(run_dir / CASES_FILE, [loaded(project, **change)], "advice")

    assert secret not in text_of(run_dir)
    assert "[redacted]" in text_of(run_dir)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "it has no cases.jsonl.zst; an earlier benchlake made it"),
        (b"", "cases.jsonl.zst is damaged"),
        (b"no zstd", "cases.jsonl.zst is damaged"),
        (zstandard.compress(b'{"case_id":"a"}\n'), "another version wrote it"),
        (zstandard.compress(b"[1]\n"), "cases.jsonl.zst is damaged"),
        (zstandard.compress(b"{\n"), "cases.jsonl.zst is damaged"),
    ],
)
def test_cases_that_cannot_be_read_are_refused(run_dir, content, why):
    if content is not None:
        (run_dir / CASES_FILE).write_bytes(content)
    with pytest.raises(NotResumable, match=why):
        read_cases(run_dir / CASES_FILE)


def test_a_file_that_unfolds_to_far_more_is_given_up_at_the_limit(run_dir, monkeypatch):
    limit = 1 << 20
    monkeypatch.setattr("collect.run_folder.stored_inputs.MAX_CASE_BYTES", limit)
    folded = zstandard.ZstdCompressor().compressobj()
    bomb = b"".join(folded.compress(b" " * limit) for _ in range(1 << 10)) + folded.flush()
    (run_dir / CASES_FILE).write_bytes(bomb)
    tracemalloc.start()
    try:
        with pytest.raises(NotResumable, match="is damaged"):
            read_cases(run_dir / CASES_FILE)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(bomb) > 20_000
    assert most < 400 << 20, "a part of it, never the whole gibibyte"


def test_a_file_cut_at_any_byte_is_refused(project, run_dir):
    case = loaded(project)
    write_cases(run_dir / CASES_FILE, [case], "advice")
    whole = (run_dir / CASES_FILE).read_bytes()

    for cut in range(1, len(whole)):
        (run_dir / CASES_FILE).write_bytes(whole[:cut])
        with pytest.raises(NotResumable):
            read_cases(run_dir / CASES_FILE)


class Begun:
    """A run that began and can be gone on with, until something in its folder is changed."""

    def __init__(self, project, run_dir):
        inputs = project.load()
        plan = make_plan(inputs, run_dir.name)
        config = run_config_of(
            inputs, new_spec(inputs, RunRequest(run_dir.parent), print), run_dir.name
        )
        log = RunLog.create(run_dir)
        log.begin(config, inventory(), inputs.cases, plan)
        log.close()
        self.dir, self.inputs = run_dir, inputs

    def verify(self):
        config = load_run_config(self.dir / "config.json")
        cases = read_cases(self.dir / CASES_FILE)
        tools = RunTools(sandbox=config.sandbox).fingerprint
        return list(verified_trials(self.dir, models_of(config), cases, tools, AGAIN))

    def edit_case(self, **change):
        raw = orjson.loads(text_of(self.dir).splitlines()[0]) | change
        rest = text_of(self.dir).splitlines()[1:]
        lines = [orjson.dumps(raw), *(line.encode() for line in rest)]
        content = b"".join(line + b"\n" for line in lines)
        (self.dir / CASES_FILE).write_bytes(zstandard.compress(content))

    def edit_config(self, **change):
        path = self.dir / "config.json"
        config = orjson.loads(path.read_bytes())
        config["models"][0] |= change
        path.write_bytes(orjson.dumps(config))

    def edit_plan(self, change):
        path = self.dir / "plan.jsonl"
        rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        for row in rows:
            change(row)
        path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


@pytest.fixture
def begun(project, tmp_path):
    project.case("one", runner={"type": "llm_probe", "temperature": 1.0})
    project.case("two", validator={"type": "exact", "value": "x"})
    project.model(
        base_url="http://127.0.0.1:9/v1", requests_per_minute=7, warmup=2, exclusive=True,
        request_options={"top_k": 5}, label="L",
    )  # fmt: skip
    project.profile(
        runner_defaults={"seed": 3, "seed_per_repetition": True, "temperature": 0.5},
        execution_policy={"run_repetitions": 3},
    )
    return Begun(project, tmp_path / "runs" / "r")


def test_an_untouched_run_is_what_was_planned_whatever_happens_to_the_yaml(begun, project):
    project.case("two", validator={"type": "exact", "value": "something else"})
    project.profile(runner_defaults={"temperature": 2.0})
    project.model(base_url="http://elsewhere.example/v1")

    begun.verify()  # raises NotResumable for what is not as planned


def test_models_come_back_as_they_were_resolved(begun):
    models = models_of(load_run_config(begun.dir / "config.json"))

    assert models == begun.inputs.models


def expect_refusal(begun, why):
    with pytest.raises(NotResumable) as error:
        begun.verify()
    text = str(error.value)
    assert why in text
    assert text.endswith(f"`{AGAIN}` starts a new run and takes over what is still the same")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"messages": [{"role": "user", "content": "Else."}]}, "case `one` changed"),
        ({"expected_tool_calls": ["ls"]}, "case `one` changed"),
        ({"case_id": "other"}, "case `one` changed"),
        ({"settings": {"temperature": 0.1}}, "the settings of model `m` for case `one` changed"),
    ],
)
def test_a_case_that_was_edited_is_refused_by_name(begun, change, why):
    begun.edit_case(**change)

    expect_refusal(begun, why)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"model": "other"}, "the endpoint of model `m` changed"),
        ({"base_url": "http://127.0.0.1:9/v2"}, "the endpoint of model `m` changed"),
        ({"model_build": "b" * 64}, "the weights of model `m` changed"),
        ({"model_id": "n"}, "model `m` changed"),
        ({"thinking_level": "high"}, "the settings of model `m` for case `one`, the settings of"),
        ({"request_options": {"top_k": 6}}, "the settings of model `m` for case `one`"),
    ],
)
def test_a_model_that_was_edited_is_refused_by_name(begun, change, why):
    begun.edit_config(**change)

    expect_refusal(begun, why)


def test_another_port_of_this_machine_is_the_same_endpoint(begun):
    begun.edit_config(base_url="http://127.0.0.1:10/v1")

    begun.verify()  # raises NotResumable for any other endpoint


def test_another_major_version_is_refused(begun):
    begun.edit_plan(lambda row: row["fingerprint_parts"].update(harness="c" * 64))

    expect_refusal(begun, "the major version of benchlake changed")


def test_fingerprints_of_another_version_are_refused(begun):
    begun.edit_plan(lambda row: row.update(fingerprint_version=99))

    expect_refusal(begun, "the version of fingerprints changed")


def test_a_case_that_held_a_secret_is_refused_by_name(project, tmp_path, secret):
    project.case("one", input={"messages": [{"role": "user", "content": f"Use {secret}"}]})
    project.case("two")

    expect_refusal(Begun(project, tmp_path / "runs" / "r"), "case `one` changed")


def test_of_many_changes_only_the_first_are_named(project, tmp_path):
    for number in range(6):
        project.case(f"c{number}")
    begun = Begun(project, tmp_path / "runs" / "r")
    begun.edit_config(thinking_level="high")

    expect_refusal(begun, "for case `c2` and 3 more changed")


def test_no_kind_of_case_is_forgotten():
    """A new field of a case must be thought of here: stored, or said why not."""
    assert {field.name for field in fields(LoadedCase)} == {
        "case_id", "prompt_id", "prompt_name", "messages", "validator", "expected_tool_calls",
        "tags", "runner_type", "settings", "attachments", "turns", "checks", "hooks",
        "expectations", "rubric", "context", "folder", "cluster", "unbuilt", "unavailable",
            "unevaluable", "has_workspace",
    }  # fmt: skip
    assert Case.model_fields.keys() >= {"validator", "rubric", "expectations"}
