"""Every query of the cookbook runs on the samples and answers its question there."""

import json
import re
import shutil

import pytest

from analyze.api import open_history
from analyze.importers.sf_bench import import_sf_bench
from schemas.run.result import Result, parse_line
from tests.support.paths import ROOT
from tests.support.run_builder import STARTED_AT_MS, RunBuilder
from tests.support.run_rows import evaluation, line_of

pytestmark = pytest.mark.docs

PAGE = (ROOT / "docs" / "sql-cookbook.md").read_text(encoding="utf-8")
QUERIES = dict(re.findall(r"^## ([^\n]+)\n.*?```sql\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL))
REPORT = {
    "schema_version": "2.0", "run_id": "theirs", "model_name": "m", "dataset": "lite", "config": {},
    "start_time": "2026-01-01T00:00:00Z", "summary": {},
    "instances": [
        {"instance_id": "a", "status": "resolved", "validation": {"total_score": 90}},
        {"instance_id": "b", "status": "skipped"},
    ],
}  # fmt: skip
"""What the samples lack: a trial that is missing, and a score of another tool."""

USAGE = {"input_tokens": 90, "output_tokens": 9, "cached_input_tokens": 40, "usage_counts": "delta"}
SMALLER = {"e2e_ms": 30, "cost_usd": 0.25}


def work(said):
    """Return the events of an agent that fails with these words, goes round, and asks another."""
    reply = ("runner", {"name": "provider_reply", "detail": {"usage": USAGE, **SMALLER}})
    edit = {"call_id": "e", "tool_name": "edit_file", "raw_arguments": '{"path": "a.py"}'}
    test = {"call_id": "t", "tool_name": "exec_shell", "raw_arguments": '{"command": "pytest"}'}
    failed = {"call_id": "t", "status": "error", "exit_code": 1, "output": said}
    below = {"trajectory": "main/other"}
    return (
        reply, ("tool_call", edit),
        ("tool_result", {"call_id": "e", "status": "success", "output": "ok", "shown_bytes": 2}),
        *(("tool_call", test), ("tool_result", failed), reply) * 3,
        ("runner", {"name": "provider_reply", "detail": {"usage": USAGE, **SMALLER}, **below}),
        ("tool_call", test | below), ("tool_result", failed | below), reply,
        ("message", {"role": "assistant", "content": "Done."}),
    )  # fmt: skip


def evaluate(run_dir):
    """Look at the first answer of a run twice, the second time with a check that was edited."""
    lines = (run_dir / "results.jsonl").read_bytes().splitlines(keepends=True)
    records = enumerate(map(parse_line, lines), 1)
    number, first = next((number, one) for number, one in records if isinstance(one, Result))
    looks = (
        evaluation(first, result_no=number, evaluated_at_ms=at_ms, checks=[check])
        for at_ms, check in enumerate(
            ({"check_hash": "a" * 16, "outcome": "failed"}, {"check_hash": "b" * 16}), 1
        )
    )
    (run_dir / "evaluations.jsonl").write_bytes(b"".join(map(line_of, looks)))


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    runs = tmp_path_factory.mktemp("cookbook") / "runs"
    shutil.copytree(ROOT / "data" / "samples" / "runs", runs, ignore=shutil.ignore_patterns("lake"))
    evaluate(runs / "night_01")
    for number, said in enumerate(("one failed", "no such module")):
        run = RunBuilder(runs, f"agents_{number}", started_at_ms=STARTED_AT_MS + number)
        run.traced(run.plan("a"), *work(said))
        run.traced(run.plan("b"), *work(said), passed=False)
        run.write()
    report = runs.parent / "report.json"
    report.write_text(json.dumps(REPORT))
    import_sf_bench(report, runs)
    with open_history(runs) as opened:
        yield opened


def test_every_question_has_one_query():
    assert len(QUERIES) == PAGE.count("\n## ") == PAGE.count("```sql") >= 12


@pytest.mark.parametrize("question", QUERIES)
def test_a_query_answers_its_question(history, question):
    query = QUERIES[question]

    found = history.sql(query)

    assert found.height > 0
    assert "order by" in query


def test_the_answers_are_those_of_the_samples(history):
    best = history.sql(QUERIES["Which model is best tonight?"])
    nightly = [row for row in best.rows(named=True) if row["suite_id"] == "nightly"]
    rates = [row["passed_rate"] for row in nightly]
    assert rates == sorted(rates, reverse=True)
    assert len({row["run_id"] for row in nightly}) == 1

    missing = history.sql(QUERIES["What is missing?"])["n_trials"].sum()
    summary = history.run_summary.collect()
    assert missing == (summary["n_planned"] - summary["n_total"]).sum() == 1
    scores = history.sql(QUERIES["What scores did an imported report hold?"])
    assert scores.rows() == [("theirs", "a", True, 90.0, None)]

    month = history.sql(QUERIES["What did a month cost?"])
    assert month["n_trials"].sum() == summary["n_total"].sum()
