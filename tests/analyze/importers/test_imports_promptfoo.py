"""Evaluations of promptfoo as runs: columns, repeats, and what is a verdict."""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pyarrow.parquet as pq
import pytest

from analyze.importers import IMPORTERS, ImportRequest
from analyze.importers.base import NotImportable
from analyze.importers.detect import detect
from analyze.lake.sync import sync
from analyze.show.trace_file import read_trace
from schemas.errors import BenchError, ConfigError
from schemas.lake import lake_of, live_files
from schemas.run.import_record import load_import_record
from schemas.run.result import parse_line
from tests.support.mutations import mutated, with_odd_value
from tests.support.promptfoo_files import PROMPT, component, database, export, refused, row

BROKEN = component(False, "llm-rubric", "Could not say", metadata={"graderError": True})


@pytest.fixture
def runs_dir(tmp_path):
    return tmp_path / "runs"


def given(tmp_path, value, name="out.json"):
    path = tmp_path / name
    path.write_text(json.dumps(value))
    return path


def given_lines(tmp_path, *rows, name="out.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def run(path, runs_dir, **options):
    return IMPORTERS["promptfoo"].run(ImportRequest(path, runs_dir, **options))


def lines(written):
    log = (written.run_dir / "results.jsonl").read_bytes()
    return [parse_line(line) for line in log.splitlines(keepends=True)]


def codes(written):
    return {one.code for one in written.findings}


def headlines(written, metric):
    found = load_import_record(written.run_dir).headlines
    return {one.model_id: one.value for one in found if one.metric == metric}


def test_a_row_is_a_trial_with_its_assertions_as_checks(tmp_path, runs_dir):
    failing = component(False, "contains", "no ell")
    value = export(row("hello", component(), failing), refused())

    (written,) = run(given(tmp_path, value), runs_dir)

    assert written.run_dir.name == "eval-abc-2026-03-04T05_06_07"
    line, down = lines(written)
    assert (line.provider, line.model, line.model_id) == ("openai", "acme-tiny", "tiny")
    assert (line.passed, line.violation, line.suite_id) == (False, "not equal", "small")
    assert [(one.kind, one.outcome, one.message) for one in line.checks] == [
        ("equals", "passed", "Assertion passed"), ("contains", "failed", "no ell"),
    ]  # fmt: skip
    assert [(one.name, one.value) for one in line.scores] == [("score", 0.5), ("part", 0.5)]
    assert (line.e2e_ms, line.input_tokens, line.output_tokens, line.cost_usd) == (27, 7, 3, 0.25)
    assert (line.raw_output, line.finish_reason) == ("hello", "stop")
    assert (down.failure_type, down.passed, down.http_status) == ("http_400", None, 400)
    assert down.error_message == "API error: 400 X"
    assert down.scores[0].value is None
    trace = read_trace(written.run_dir, line.artifact_path).trace
    assert [one.content for one in trace] == ["Say hello", "hello", "hello"]


def test_the_head_of_a_column_is_a_headline_and_what_it_hides_is_told(tmp_path, runs_dir):
    metrics = {
        "testPassCount": 2, "testFailCount": 1, "testErrorCount": 1, "score": 2.5,
        "namedScores": {"part": 1.5}, "namedScoresCount": {"part": 2},
    }  # fmt: skip
    unasserted = row("any", testCase={"vars": {"word": "any"}, "assert": []})
    unasserted["gradingResult"] = {"pass": True, "score": 1, "reason": "No assertions"}
    rows = (row(), unasserted, row("rubric", BROKEN), refused())
    value = export(*rows, prompts=[PROMPT | {"metrics": metrics}])

    (written,) = run(given(tmp_path, value), runs_dir)

    numbers = {
        (one.name, one.metric): (one.value, one.is_computed)
        for one in load_import_record(written.run_dir).headlines
    }
    assert numbers == {
        ("pass", "pass rate"): (0.5, True), ("pass", "testPassCount"): (2, False),
        ("pass", "testFailCount"): (1, False), ("pass", "testErrorCount"): (1, False),
        ("score", "sum"): (2.5, False), ("part", "sum"): (1.5, False),
        ("part", "mean"): (0.75, True),
    }  # fmt: skip
    assert [one.passed for one in lines(written)] == [True, None, None, None]
    assert codes(written) == {"rows_unasserted", "rows_broken"}


def test_a_grader_that_broke_is_a_check_without_an_outcome(tmp_path, runs_dir):
    both = row("both", component(False), BROKEN)
    thrown = row("js", component(False, "javascript", "Custom function threw error: x"))

    (written,) = run(given(tmp_path, export(row("a", BROKEN), both, thrown)), runs_dir)

    alone, mixed, code = lines(written)
    assert [one.outcome for one in alone.checks] == ["error"]
    assert (alone.checks[0].reason, alone.checks_errored) == ("grader_error", 1)
    assert (alone.passed, mixed.passed, code.passed) == (None, False, None)


def test_repeats_are_repetitions_and_other_assertions_another_case(tmp_path, runs_dir):
    rows = (
        row("a", index=0), row("a", index=1), row("b", index=2), row("b", component(), index=3),
        row("b", component(kind="contains"), index=4),
    )  # fmt: skip

    (written,) = run(given(tmp_path, export(*rows)), runs_dir)

    found = [(one.case_id, one.repetition) for one in lines(written)]
    assert [n for _, n in found] == [1, 2, 1, 2, 1]
    assert len({case for case, _ in found}) == 3


def test_variables_that_were_stripped_leave_the_place_of_a_test(tmp_path, runs_dir):
    rows = [row("a", index=n, vars={}) for n in range(2)]
    for one in rows:
        del one["testCase"]["vars"]
        one["prompt"]["raw"] = "[prompt stripped]"
        one["response"]["output"] = "[output stripped]"

    (written,) = run(given(tmp_path, export(*rows)), runs_dir)

    found = lines(written)
    assert [one.repetition for one in found] == [1, 1]
    assert {one.raw_output for one in found} == {""}
    assert "rows_stripped" in codes(written)
    assert b"stripped" not in (written.run_dir / "results.jsonl").read_bytes()


def test_cached_answers_are_no_draws_of_their_own(tmp_path, runs_dir):
    cached = row("a")
    cached["response"]["cached"] = True
    (written,) = run(given(tmp_path, export(cached, row("b"))), runs_dir)

    old, new = lines(written)
    assert (old.passed, old.reused_from_run_id) == (True, "promptfoo-cache")
    assert old.e2e_ms is old.input_tokens is old.cost_usd is None
    assert new.reused_from_run_id is None
    assert sync(runs_dir).problems == ()
    (file,) = live_files(lake_of(runs_dir), "results")
    assert pq.ParquetFile(file).metadata.num_rows == 2


def test_several_prompts_are_columns_of_their_own(tmp_path, runs_dir):
    other = PROMPT | {"id": "b" * 64, "label": "Please say {{word}}"}
    second = row("a", column=1, promptId="b" * 64)
    second["prompt"]["label"] = other["label"]
    third = row("a", column=2)

    (written,) = run(
        given(tmp_path, export(row("a"), second, third, prompts=[PROMPT, other, PROMPT])), runs_dir
    )

    assert [one.model_id for one in lines(written)] == [
        "tiny_say_word_aaaaaaaa", "tiny_please_say_word_bbbbbbbb", "tiny_say_word_aaaaaaaa_2",
    ]  # fmt: skip
    assert headlines(written, "pass rate").keys() == {one.model_id for one in lines(written)}


@pytest.mark.parametrize(
    ("provider", "names"),
    [
        ({"id": "openai:chat:gpt-4o"}, ("openai", "gpt-4o", "openai_chat_gpt-4o")),
        ({"id": "bedrock:us.claude-v1:0"}, ("bedrock", "us.claude-v1:0", "bedrock_us_claude-v1_0")),
        ("python:ask.py", ("python", "ask.py", "python_ask_py")),
        ("https://a.b/c", ("https", "https://a.b/c", "https_a_b_c")),
        ("echo", ("promptfoo", "echo", "echo")),
        ({"id": None, "label": ""}, ("promptfoo", "unknown", "unknown")),
    ],
)
def test_a_provider_is_how_it_is_reached_and_a_model(tmp_path, runs_dir, provider, names):
    (written,) = run(given(tmp_path, export(row(provider=provider))), runs_dir)

    (line,) = lines(written)
    assert (line.provider, line.model, line.model_id) == names


@pytest.mark.parametrize(
    ("message", "failure"),
    [
        ("Request timed out after 300000 ms", "timeout"),
        ("API error: 429 Too Many Requests", "http_429"),
        ("fetch failed: ECONNREFUSED", "connection_error"),
        ("API key is not set. Set the OPENAI_API_KEY", "api_key_missing"),
        ("TypeError: x is undefined", "exception"),
        ("", "exception"),
    ],
)
def test_an_error_is_named_by_its_text(tmp_path, runs_dir, message, failure):
    (written,) = run(given(tmp_path, export(refused(message=message))), runs_dir)

    (line,) = lines(written)
    assert (line.failure_type, line.success) == (failure, False)


def old_rows():
    for one in (row("a"), row("b", component(False)), refused("c")):
        kept = ("provider", "prompt", "vars", "response", "error", "success", "score", "latencyMs",
                "namedScores", "gradingResult")  # fmt: skip
        yield {name: one[name] for name in kept if one[name] is not None} | {"provider": "openai:m"}


def old_shapes():
    rows = list(old_rows())
    head = {"prompts": [{"raw": "Say {{word}}", "label": "Say {{word}}", "provider": "openai:m"}]}
    summary = {"version": 2, "timestamp": "2024-03-04T05:06:07Z", "results": rows,
               "table": {"head": head, "body": [1]}, "stats": {}}  # fmt: skip
    yield "the evaluation in a file of version 2", {"evalId": "e", "results": summary, "config": {}}
    yield "the summary alone", summary
    yield "version 1", {"version": 1, "results": rows, "stats": {}}
    yield "rows alone", rows


@pytest.mark.parametrize(("shape", "value"), list(old_shapes()))
def test_older_shapes_are_read(tmp_path, runs_dir, shape, value):
    (written,) = run(given(tmp_path, value), runs_dir)

    found = lines(written)
    assert [one.passed for one in found] == [True, False, None]
    assert found[2].failure_type == "http_400"
    assert headlines(written, "pass rate") == {"openai_m": 1 / 3}
    assert {one.is_computed for one in load_import_record(written.run_dir).headlines} == {True}


def test_lines_of_json_are_counted_as_the_export_would_be(tmp_path, runs_dir):
    rows = (row("a"), row("b", component(False)), refused("c"))

    (written,) = run(given_lines(tmp_path, *rows), runs_dir)

    assert written.n_trials == 3
    assert headlines(written, "testErrorCount") == {"tiny": 1}
    assert headlines(written, "sum") == {"tiny": 1.0}


def test_a_database_is_a_run_for_each_evaluation_that_has_rows(tmp_path, runs_dir):
    folder = tmp_path / "a ?#%b"
    folder.mkdir()
    path = database(folder / "promptfoo.db", one=[row("a"), refused()], none=[], two=[row("b")])

    written = run(path, runs_dir)

    assert [(one.run_dir.name, one.n_trials) for one in written] == [("one", 2), ("two", 1)]
    assert lines(written[0])[0].started_at_ms == 1_772_600_767_000
    assert not any(b"hunter2" in file.read_bytes() for file in runs_dir.rglob("*.json*"))
    with closing(sqlite3.connect(path)) as base:
        base.execute("insert into evals select 'later', 9e12, '', '{}', '{}', '[]', '[]', null")
        base.execute(
            "insert into eval_results select 'x', created_at, updated_at, 'later', prompt_idx,"
            " test_idx, test_case, prompt, prompt_id, provider, latency_ms, cost, response, error,"
            " success, score, grading_result, named_scores, metadata, failure_reason"
            " from eval_results limit 1"
        )
        base.commit()
    assert [one.is_new for one in run(path, runs_dir)] == [False, False, True]
    with pytest.raises(ConfigError, match="one run id for the 4 evaluations"):
        run(path, runs_dir, run_id="x")


@pytest.mark.parametrize("suffixes", [(), ("-wal",), ("-wal", "-shm")])
def test_a_database_is_read_with_its_log_and_nothing_is_left_beside_it(
    tmp_path, runs_dir, suffixes
):
    path = database(tmp_path / "first.db", one=[row("a")])
    folder = tmp_path / "theirs"
    folder.mkdir()
    with closing(sqlite3.connect(path)) as base:
        base.execute("pragma journal_mode = wal")
        base.execute("pragma wal_autocheckpoint = 0")
        base.execute("update evals set id = 'renamed'")
        base.execute("update eval_results set eval_id = 'renamed'")
        base.commit()
        for end in ("", *suffixes):
            shutil.copyfile(f"{path}{end}", f"{folder / 'promptfoo.db'}{end}")
    before = {one.name: one.read_bytes() for one in folder.iterdir() if one.suffix != ".db-shm"}
    names = sorted(one.name for one in folder.iterdir())

    (found,) = detect(folder)
    written = run(folder / "promptfoo.db", runs_dir)

    assert found.format == "promptfoo"
    assert [one.run_dir.name for one in written] == ["renamed" if suffixes else "one"]
    assert sorted(one.name for one in folder.iterdir()) == names
    assert {name: (folder / name).read_bytes() for name in before} == before


def test_the_same_import_changes_nothing_and_each_file_is_known_by_its_look(tmp_path, runs_dir):
    folder = tmp_path / "theirs"
    folder.mkdir()
    paths = [
        given(folder, export(row())), given_lines(folder, row()),
        database(folder / "p.db", e=[row()]),
    ]  # fmt: skip
    (folder / "other.db").write_bytes(b"SQLite format 3\0 and no more")
    given(folder, {"results": {"a": 1}}, "results.json")

    assert [(one.path.name, one.format) for one in detect(folder)] == [
        ("out.json", "promptfoo"), ("out.jsonl", "promptfoo"), ("p.db", "promptfoo"),
    ]  # fmt: skip
    for path in paths:
        assert [run(path, runs_dir)[0].is_new for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", b"", "no JSON of promptfoo"),
        ("a.json", b"\xff\xfe{", "no JSON of promptfoo"),
        ("a.json", b"[" * 100_000, "no JSON of promptfoo"),
        ("a.json", b'{"results": 7}', "no JSON of promptfoo"),
        ("a.json", b'{"a": 1}', "there is no `results`"),
        ("a.json", b'{"results": [{"a": 1}]}', "its first row is none"),
        ("a.json", b'{"results": []}', "neither a result nor a planned trial"),
        ("a.jsonl", b"", "its first row is none"),
        ("a.jsonl", b'{"doc_id": 1}', "its first row is none"),
        ("a.db", b"", "has no tables"),
        ("a.db", b"SQLite format 3\0" + b"x" * 5000, "no database that can be read"),
        ("a.db", b"text" * 5000, "no database that can be read"),
    ],
)
def test_what_is_no_evaluation_is_refused_in_a_sentence(tmp_path, runs_dir, name, content, said):
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises((NotImportable, ConfigError), match=said):
        run(path, runs_dir)
    with pytest.raises(ConfigError, match="is no file"):
        run(tmp_path, runs_dir)
    assert not runs_dir.exists()


def test_odd_values_become_nothing_and_a_byte_order_mark_is_passed_over(tmp_path, runs_dir):
    deep = []
    for _ in range(400):
        deep = [deep]
    odd = row(
        "\ud800", score=10**400, latencyMs=-1, cost=float("inf"), namedScores={"a": float("nan")},
        response={"output": deep, "tokenUsage": [1], "cached": "yes"}, prompt=7, vars=[1],
        gradingResult={"componentResults": [1, {"pass": 1, "assertion": "x"}]}, testCase=None,
    )  # fmt: skip
    others = ({"success": 2, "provider": "x"}, [], {"success": True})
    path = given_lines(tmp_path, row(), odd, *others)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    (written,) = run(path, runs_dir)

    line = lines(written)[1]
    assert (line.e2e_ms, line.cost_usd, [one.value for one in line.scores]) == (
        None, None, [None, None],
    )  # fmt: skip
    assert [one.pointer for one in written.findings if one.code == "row_left_out"] == [
        "/results/2", "/results/3", "/results/4",
    ]  # fmt: skip
    assert sync(runs_dir).problems == ()


FORMATS = ("out.json", "out.jsonl", "p.db")


@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_file_is_read_or_refused_and_nothing_half_written_stays(tmp_path, runs_dir, name):
    rows = (row("a"), row("b", component(False)), row("c", BROKEN), refused())
    path = tmp_path / name
    if name == "p.db":
        database(path, e=rows)
    elif name == "out.json":
        given(tmp_path, export(*rows))
    else:
        given_lines(tmp_path, *rows)
    original, n_read, refused_for = path.read_bytes(), 0, []

    for seed in range(320):
        path.write_bytes(mutated(original, seed))
        try:
            (written,) = run(path, runs_dir, run_id=f"r{seed}")
        except BenchError as exc:
            refused_for.append(str(exc).strip())
            assert not (runs_dir / f"r{seed}").exists()
        else:
            n_read += 1
            assert len(lines(written)) == written.n_trials

    assert all(refused_for)
    assert n_read > 20
    assert not list(runs_dir.glob(".*"))
    assert sync(runs_dir).problems == ()


@pytest.mark.parametrize("name", ["out.json", "out.jsonl"])
def test_any_odd_value_is_read_as_far_as_it_goes(tmp_path, runs_dir, name):
    rows = (row("a"), row("b", component(False)), row("c", BROKEN), refused())
    n_read = 0

    for seed in range(320):
        if name == "out.json":
            path = given(tmp_path, with_odd_value(export(*rows), seed), name)
        else:
            path = given_lines(tmp_path, *with_odd_value(rows, seed), name=name)
        try:
            (written,) = run(path, runs_dir, run_id=f"r{seed}")
        except BenchError:
            assert not (runs_dir / f"r{seed}").exists()
        else:
            n_read += 1
            assert len(lines(written)) == written.n_trials

    assert n_read > 150
    assert sync(runs_dir).problems == ()


def test_a_large_export_takes_little_more_memory_than_its_size(tmp_path, runs_dir):
    """In a process of its own, since the peak of one never goes down."""
    long = row("a", vars={"word": "x" * 20_000})
    path = given(tmp_path, export(*({**long, "testIdx": n} for n in range(3_000))))
    size = path.stat().st_size
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from analyze.importers import IMPORTERS, ImportRequest\n"
        "one = IMPORTERS['promptfoo']\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"one.run(ImportRequest(Path({str(path)!r}), Path({str(runs_dir)!r})))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert size > 60_000_000
    assert int(done.stdout) * 1024 < 2.5 * size
