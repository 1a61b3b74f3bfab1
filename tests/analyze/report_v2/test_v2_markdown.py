"""Markdown of an evaluation report v2: its own numbers, nothing hostile, the same bytes again."""

import math
import re

import pytest

from analyze.exporters.report_v2 import generate_markdown_summary
from analyze.render.numbers import percent_range
from analyze.stats.intervals import wilson_shrunk
from schemas.errors import SchemaError
from schemas.formats.report_v2 import EvaluationReport
from schemas.formats.report_v2_instance import ValidationBreakdown, scored

PASSED = ("deployment", "unit_test", "functional", "bulk", "no_tweaks")

HOSTILE = "<script>x</script> | [a](javascript:b) `c` *d*\n\n# e\x1b[31m\u202e"


def breakdown(*passed, **fields):
    statuses = {f"{name}_status": "pass" if name in passed else "fail" for name in PASSED}
    return scored(ValidationBreakdown(**statuses, **fields)).model_dump()


def instance(name, status="resolved", **fields):
    return {"instance_id": name, "status": status} | fields


def report(*instances, summary=None, **fields):
    return {
        "schema_version": "2.0", "run_id": "m-20251229_143000", "model_name": "a/m",
        "dataset": "verified", "start_time": "2025-12-29T14:30:00Z", "config": {},
        "instances": list(instances), "summary": summary or {},
    } | fields  # fmt: skip


def section(text, title, level="##"):
    """Return the lines below a heading, up to the next one of its level or above."""
    lines = text.splitlines()
    start = lines.index(f"{level} {title}") + 1
    ends = [n for n in range(start, len(lines)) if lines[n].startswith(("# ", "## ", f"{level} "))]
    return [line for line in lines[start : ends[0] if ends else None] if line]


FOUR = (
    instance("b", validation=breakdown(*PASSED), duration_seconds=245.3, solution_patch="diff"),
    instance("a", "fail", validation=breakdown("deployment"), solution_patch="diff"),
    instance("c", "error", error_type="timeout", error_message="too slow"),
    instance("e", "fail", validation=breakdown(*PASSED), solution_patch=" "),
    instance("d", "skipped"),
)


def test_the_numbers_are_those_of_the_summary():
    summary = {
        "total_instances": 12, "resolved_instances": 5, "resolve_rate": 41.67, "avg_score": 6.0,
        "functional_pass_rate": 0.0833, "total_duration_seconds": 2943.6,
    }  # fmt: skip
    text = generate_markdown_summary(report(FOUR[0], summary=summary))

    overall = section(text, "Overall results")
    for row in ("| Total | 12 |", "| Resolved | 5 |", "| Resolve rate, of all (strict) | 41.7 % |"):
        assert row in overall
    assert "| Error | unknown |" in overall
    assert section(text, "Scoring")[2:] == ["| Average score | 6 / 100 |"]
    assert section(text, "Components")[2:] == ["| Functional | 8.3 % | 50 |"]
    assert "| Total duration | 49m04s |" in section(text, "Performance")


def test_the_rate_of_those_with_a_verdict_leads_and_the_strict_one_stands_beside_it():
    """Two of three with a verdict are resolved, an empty patch among them; one is an error."""
    counts = {
        "total_instances": 4, "resolved_instances": 2, "instances_completed": 2,
        "instances_empty_patch": 1, "error_instances": 1, "resolve_rate": 0.5,
    }  # fmt: skip
    rows = section(generate_markdown_summary(report(FOUR[0], summary=counts)), "Overall results")

    assert rows[2] == "| Passed, of those with a verdict | 66.7 % |"
    assert "| Resolve rate, of all (strict) | 50.0 % |" in rows
    whole = generate_markdown_summary(report(FOUR[0]))
    assert "| Passed, of those with a verdict | 100.0 % |" in whole
    assert "strict" not in whole


def test_a_report_of_some_instances_says_how_many_are_here():
    text = generate_markdown_summary(report(FOUR[0], summary={"total_instances": 1200}))

    sentence = "1 of 1,200 instances is in this report; the numbers are those of its summary."
    assert sentence in text
    assert "are in this report" not in generate_markdown_summary(report(FOUR[0]))


def test_more_instances_than_the_summary_counts_are_named_too():
    text = generate_markdown_summary(
        EvaluationReport(**report(*FOUR, summary={"total_instances": 3}))
    )

    assert "5 instances are here, and its summary counts 3; " in text


def test_the_interval_is_that_of_every_rate_here_and_names_its_method():
    text = generate_markdown_summary(report(*FOUR))

    expected = wilson_shrunk([1, 0, 0, 0, 0], [1] * 5)
    limits = percent_range(expected.low, expected.high).replace("[", "\\[").replace("]", "\\]")
    row = f"| 95 % interval of the resolve rate | {limits} % (Wilson 1927, 5 instances) |"
    assert row in text.splitlines()


@pytest.mark.parametrize(
    "summary", [{"total_instances": 1}, {"total_instances": 2, "resolved_instances": 3}]
)
def test_there_is_no_interval_where_counts_allow_none(summary):
    text = generate_markdown_summary(report(FOUR[0], summary=summary))

    assert re.search(r"\| 95 % interval of (it|the resolve rate) \| unknown \|", text)


def test_tasks_are_listed_by_what_became_of_them():
    text = generate_markdown_summary(report(*FOUR))

    for title, ids in {
        "Resolved (1)": ["- b"], "Unresolved (1)": ["- a"], "Empty patch (1)": ["- e"],
        "Error (1)": ["- c"], "Skipped (1)": ["- d"],
    }.items():  # fmt: skip
        assert section(text, title, "###") == ids
    nothing = generate_markdown_summary(report())
    assert section(nothing, "Resolved (0)", "###") == ["*None*"]
    assert section(nothing, "Details") == ["*None*"]


def test_details_come_by_score_and_then_by_id():
    text = generate_markdown_summary(report(*FOUR))

    headings = [line for line in section(text, "Details") if line.startswith("### ")]
    assert headings == ["### b: resolved", "### e: fail", "### a: fail", "### c: error",
                        "### d: skipped"]  # fmt: skip


def test_details_of_a_scored_instance_have_its_components():
    lines = section(generate_markdown_summary(report(*FOUR)), "b: resolved", "###")

    assert lines[:2] == ["- Score: 100 / 100", "- Duration: 4m05s"]
    assert "| Unit tests | pass | 20 / 20 |  |" in lines
    assert section(generate_markdown_summary(report(*FOUR)), "c: error", "###") == [
        "- Error: timeout: too slow"
    ]


def test_a_verdict_that_the_status_contradicts_is_shown():
    text = generate_markdown_summary(report(instance("a", "error", resolved=True)))

    assert section(text, "a: error", "###") == ["- Verdict: resolved"]


def test_what_is_scored_nowhere_has_no_sections_of_scores():
    text = generate_markdown_summary(report(instance("a"), instance("b", "fail")))

    assert "## Scoring" not in text
    assert "## Components" not in text
    assert "Score" not in text


def test_scores_of_some_instances_are_said_to_be_those_of_some():
    some = generate_markdown_summary(report(*FOUR))
    plain = generate_markdown_summary(
        report(instance("a", validation={"total_score": 70}), instance("b", "fail"))
    )
    every = generate_markdown_summary(report(instance("a", validation={"total_score": 70})))

    last = "; the functional average and the pass rates below are over all of them."
    assert section(some, "Scoring")[-1] == f"3 of 5 instances have a score{last}"
    assert section(plain, "Scoring")[-1] == "1 of 2 instances has a score."
    assert "have a score" not in every


def test_repetitions_are_shown_and_what_is_none_is_left_out():
    repetitions = [
        {"repetition": 1, "passed": True, "status": "success", "failure_type": None},
        {"repetition": 2, "passed": None, "status": "failed", "failure_type": "http 500 <b>"},
        {"repetition": 3, "passed": None, "status": "missing"},
        {"repetition": 10**5000, "passed": True}, {"repetition": 4, "passed": [1]}, "x", None,
    ]  # fmt: skip
    odd = EvaluationReport(**report(instance("a", repetitions=repetitions)))
    text = generate_markdown_summary(odd)

    line = "- Repetitions: 1 passed; 2 no verdict (http 500 &lt;b&gt;); 3 missing"
    assert section(text, "a: resolved", "###") == [line]
    others = generate_markdown_summary(report(instance("a", repetitions={"x": 1})))
    assert "Repetitions" not in others


def test_nothing_hostile_is_more_than_text():
    text = generate_markdown_summary(
        report(
            instance(
                HOSTILE, "error", error_type=HOSTILE, error_message=HOSTILE * 500,
                validation=breakdown("bulk", bulk_message=HOSTILE),
                repetitions=[{"repetition": 1, "passed": False, "failure_type": HOSTILE}],
            ),
            model_name=HOSTILE, dataset=HOSTILE, end_time=HOSTILE,
        )
    )  # fmt: skip

    assert text.encode("utf-8").decode("utf-8") == text
    for part in ("<script>", " [a](", "\x1b", "\u202e", "\n# e"):
        assert part not in text
    assert "&lt;script&gt;" in text
    assert text.count("\n# ") == 0
    assert max(map(len, text.splitlines())) < 2_000
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in tables} <= {3, 4, 5}


def test_the_same_report_gives_the_same_bytes_as_a_record_and_as_json():
    data = report(*FOUR)

    assert generate_markdown_summary(data) == generate_markdown_summary(EvaluationReport(**data))


@pytest.mark.parametrize("bad", [None, 5, [], {}, {1: 2}, "report.json", report(instances=5)])
def test_what_is_no_report_is_refused_with_what_is_wrong(bad):
    with pytest.raises(SchemaError, match="no valid evaluation report of schema"):
        generate_markdown_summary(bad)


def test_many_problems_are_counted():
    bad = report(*(instance(f"i{n}", "bogus") for n in range(50)))

    with pytest.raises(SchemaError, match="and 30 more errors"):
        generate_markdown_summary(bad)


def test_numbers_at_their_limits_are_written_out():
    said = {
        "total_instances": 2**40, "resolved_instances": 2**40, "max_score": 1e6, "min_score": -1e6,
        "median_score": 41.67, "total_duration_seconds": 1e18,
    }  # fmt: skip
    text = generate_markdown_summary(report(summary=said))

    assert "| Highest score | 1000000 / 100 |" in text
    assert "| Median score | 41.7 / 100 |" in text
    assert f"{math.inf}" not in text
