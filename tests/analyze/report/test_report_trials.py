"""Flips and transcripts of a report: what is chosen, what fits, and that nothing is made up."""

import json
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import orjson
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from analyze.comparison.compare import compare
from analyze.comparison.evidence.read import read_evidence
from analyze.comparison.evidence.run_sets import ChosenSide
from analyze.report.packed import PackedTrials
from analyze.report.sections import transcripts as transcripts_room
from analyze.report.sections.flips import MAX_ANSWER_CHARS, MAX_PAIRS, answer_diff, flips_of
from analyze.report.sections.transcripts import MAX_SHARE, choose_trials, transcripts_of
from analyze.report.trace_excerpt import MARK, MIN_TEXT_BYTES, fitted, parts_of, units_of
from analyze.show.trace_file import Beginning, NoTrace, read_beginning, read_trace
from schemas.run.trace import Artifact
from tests.support import histories, pae_tree
from tests.support.analyze_cli import call
from tests.support.compared_runs import Runs
from tests.support.cpu_time import loops
from tests.support.report_context import open_context
from tests.support.run_rows import sha, trace

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("warm_engines")]

HOSTILE = "<script>\x00\x1b[31m\u202eevil\u2066 {{7*7}} \U0001f600"
PLENTY = 10**6


def reported(runs_dir, run_id, base=None, budget=PLENTY):
    with open_context(runs_dir, run_id, base) as context:
        return parts_of_report(context, budget)


def parts_of_report(context, budget=PLENTY):
    flips = flips_of(context)
    return flips, transcripts_of(context, flips, budget)


def shown(runs_dir, run_id, base=None, budget=PLENTY):
    return reported(runs_dir, run_id, base, budget)[1]


def shown_in(budgets, runs_dir, run_id, base=None):
    """Transcripts of one run in several budgets."""
    with open_context(runs_dir, run_id, base) as context:
        flips = flips_of(context)
        return [transcripts_of(context, flips, budget) for budget in budgets]


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)


def bytes_of_transcript(one):
    return sum(len(text.encode()) for text in strings(one.model_dump()))


def names(transcripts):
    return [
        (one.why, one.is_baseline, one.model_id, one.case_id, one.repetition)
        for one in transcripts.shown
    ]


def went(**passes):
    """Results by case: how many of the repetitions pass, the first ones."""
    return lambda trial: {
        "passed": trial.repetition <= passes.get(trial.case_id, 99),
        "raw_output": f"{trial.run_id} says {trial.case_id} {trial.repetition}",
    }


@pytest.fixture
def runs(new_run):
    return Runs(new_run, is_mirrored=False)


@pytest.fixture(scope="module")
def two(shared_run):
    """Two nights of three repetitions: `a` broke, `b` was fixed, `c` wavers, `d` stays."""
    runs = Runs(shared_run, is_mirrored=False)
    options = {"cases": ("a", "b", "c", "d"), "repetitions": (1, 2, 3)}
    runs.add("old", 0, result=went(a=3, b=1, c=3), **options)
    runs.add("new", 1, result=went(a=1, b=3, c=2), **options)
    return runs


@pytest.fixture(scope="module")
def later(two):
    """The context of the second of them beside the first."""
    with open_context(two.runs_dir, "new", "old") as context:
        yield context


def test_a_flip_has_the_first_answers_that_went_as_most_did(later):
    broke, fixed = flips_of(later)

    assert (broke.case_id, broke.flip, broke.base_passed, broke.candidate_passed) == (
        "a", "broke", 3, 1,
    )  # fmt: skip
    assert (broke.base_run_id, broke.base_repetition) == ("old", 1)
    assert (broke.candidate_run_id, broke.candidate_repetition) == ("new", 2)
    assert (broke.base_answer, broke.candidate_answer) == ("old says a 1", "new says a 2")
    assert not broke.is_cut
    assert [part.kind for part in broke.diff] == ["base", "candidate", "same", "base", "candidate"]
    assert (fixed.case_id, fixed.flip) == ("b", "fixed")
    assert (fixed.base_repetition, fixed.candidate_repetition) == (2, 1)


def test_the_commands_of_a_flip_show_its_two_trials(later):
    for flip in flips_of(later):
        texts = [call(*command.split()[1:]).out for command in flip.commands]

        assert flip.base_answer in texts[0]
        assert flip.candidate_answer in texts[1]


def test_a_report_without_a_baseline_has_no_flips(two):
    flips, transcripts = reported(two.runs_dir, "new")

    assert flips == ()
    assert {one.why for one in transcripts.shown} == {"failed", "other"}
    assert not any(one.is_baseline for one in transcripts.shown)


def test_flips_are_as_many_as_are_asked_for_and_worst_first(later):
    assert [flip.case_id for flip in flips_of(later, 1)] == ["a"]
    assert flips_of(later, 0) == ()


def test_of_several_baseline_runs_the_newest_that_went_as_most_did_counts(runs):
    for day, passes in enumerate((1, 1, 1, 0)):
        runs.add(f"night-{day}", day, cases=("a", "b"), result=went(a=passes))
    runs.add("now", 5, cases=("a", "b"), result=went(a=0))
    (flip,) = reported(runs.runs_dir, "now", "last:4")[0]

    assert (flip.base_passed, flip.base_scored) == (3, 4)
    assert (flip.base_run_id, flip.base_answer) == ("night-2", "night-2 says a 1")


def test_a_baseline_run_that_asked_the_same_case_goes_before_a_newer_one(runs):
    def edited(case_id, repetition, model_id):
        return {"case_hash": sha("other words")} if case_id == "a" else {}

    runs.add("same", 0, result=went())
    runs.add("edited", 1, result=went(), plan=edited)
    runs.add("now", 2, result=went(a=0))
    with open_context(runs.runs_dir, "now") as context:
        sides = ChosenSide("x", ("same", "edited")), ChosenSide("now", ("now",))
        evidence = read_evidence(context.session, *sides)
        comparison = compare(evidence, limits=context.limits, allow=("case",))
        (flip,) = flips_of(replace(context, comparison=comparison))

    assert flip.base_run_id == "same"


def test_a_candidate_under_another_model_id_is_found_on_both_sides(runs):
    runs.add("old", 0, models=("before=acme/x",), result=went())
    runs.add("new", 1, models=("after=acme/x",), result=went(a=0))
    flips, transcripts = reported(runs.runs_dir, "new", "old")
    (flip,) = flips

    assert (flip.model_id, flip.candidate_model_id) == ("before", "after")
    assert names(transcripts)[:2] == [
        ("flipped", False, "after", "a", 1),
        ("flipped", True, "before", "a", 1),
    ]
    assert {one.run_id for one in transcripts.shown if one.is_baseline} == {"old"}


def test_long_answers_are_cut_and_said_to_be(runs):
    long = "x" * (MAX_ANSWER_CHARS + 1)
    runs.add("old", 0, result=lambda trial: {"raw_output": "y" * MAX_ANSWER_CHARS})
    runs.add(
        "new", 1,
        result=lambda trial: {"raw_output": long, "passed": trial.case_id != "a"},
    )  # fmt: skip
    (flip,) = reported(runs.runs_dir, "new", "old")[0]

    assert flip.is_cut
    assert flip.candidate_answer == long[:-1]
    assert len(flip.base_answer) == MAX_ANSWER_CHARS


def test_flipped_trials_come_first_then_failed_ones_then_all_others(later):
    assert names(parts_of_report(later)[1]) == [
        ("flipped", False, "m1", "a", 2),
        ("flipped", True, "m1", "a", 1),
        ("flipped", False, "m1", "b", 1),
        ("flipped", True, "m1", "b", 2),
        ("failed", False, "m1", "c", 3),
        ("failed", False, "m1", "a", 3),
        ("other", False, "m1", "a", 1),
        ("other", False, "m1", "c", 1),
        ("other", False, "m1", "d", 1),
        ("other", False, "m1", "b", 2),
        ("other", False, "m1", "c", 2),
        ("other", False, "m1", "d", 2),
        ("other", False, "m1", "b", 3),
        ("other", False, "m1", "d", 3),
    ]


def test_models_take_turns_and_cases_go_before_repetitions(runs):
    runs.add(
        "r", 0, models=("m1", "m2"), cases=("a", "b"), repetitions=(1, 2),
        result=lambda trial: {"passed": False},
    )  # fmt: skip

    assert [name[2:] for name in names(shown(runs.runs_dir, "r"))] == [
        ("m1", "a", 1), ("m2", "a", 1), ("m1", "b", 1), ("m2", "b", 1),
        ("m1", "a", 2), ("m2", "a", 2), ("m1", "b", 2), ("m2", "b", 2),
    ]  # fmt: skip


def test_every_trial_that_passed_is_there_and_models_take_turns(runs):
    runs.add("r", 0, models=("m1", "m2"), cases=tuple("abcdef"), result=went())
    found = [name[2:4] for name in names(shown(runs.runs_dir, "r"))]

    assert found == [(model, case) for case in "abcdef" for model in ("m1", "m2")]


def test_what_is_left_out_is_counted(later):
    budgets = (0, PLENTY, *range(1, 6_000, 555))
    none, every, *others = (parts_of_report(later, budget)[1] for budget in budgets)

    # of four cases three times a 2, a 3 and c 3 did not pass
    assert (every.n_trials, every.n_not_passed, every.n_left_out) == (12, 3, 0)
    assert (none.n_trials, none.n_not_passed, none.n_left_out) == (12, 3, 12)
    assert none.shown == ()
    for some in others:
        assert some.n_left_out == 12 - sum(not one.is_baseline for one in some.shown)
    assert 0 < len({some.n_left_out for some in others}) < 13


def test_without_a_budget_no_trace_is_read(later, monkeypatch):
    monkeypatch.setattr(transcripts_room, "read_beginning", None)  # calling it would fail

    assert parts_of_report(later, budget=0)[1].shown == ()


def test_missing_trials_are_neither_shown_nor_counted(runs):
    runs.add("r", 0, cases=tuple("abc"), result=lambda t: None if t.case_id == "a" else {})
    transcripts = shown(runs.runs_dir, "r")

    assert [one.case_id for one in transcripts.shown] == ["b", "c"]
    assert (transcripts.n_not_passed, transcripts.n_left_out) == (0, 0)


def test_failures_without_an_answer_are_shown_with_what_is_known(runs):
    def result(trial):
        return {"failure_type": "http_500", "error_message": HOSTILE, "raw_output": ""}

    runs.add("r", 0, cases=("a",), result=result)
    (one,) = shown(runs.runs_dir, "r").shown

    assert one.why == "failed"
    assert dict(one.facts)["failure"].startswith("http_500")
    assert "message" in dict(one.facts)
    assert [part.name for part in one.parts] == ["final output: empty"]


def traced(run, *events_by_trial, passed=False):
    """Give a run a case for each list of events, each with a trace and an answer."""
    for n, events in enumerate(events_by_trial):
        trial = run.plan(f"case-{n}")
        (path,) = run.write_traces(trace(run.run_id, "m1", f"case-{n}", 1, *events))
        run.result(trial, artifact_path=path, passed=passed, raw_output=f"the answer {n}")
    run.mirror()


def turns(n, length=60):
    """An agent's trace of so many tool calls with their results."""
    events = [("message", {"role": "user", "content": "Do it."})]
    for number in range(n):
        call = {"call_id": f"id-{number}", "tool_name": "shell"}
        events += [
            ("tool_call", call | {"raw_arguments": f"{number}: " + "c" * length}),
            ("tool_result", {
                "call_id": f"id-{number}", "status": "error" if number % 9 == 4 else "success",
                "output": {"text": f"{number}: " + "r" * length},
            }),
        ]  # fmt: skip
    return [*events, ("final_output", {"content": "Done."})]


def test_every_kind_of_turn_is_a_part_and_errors_are_marked(run):
    traced(run, [
        ("message", {"role": "system", "content": HOSTILE}),
        ("runner", {"name": "retry_scheduled", "detail": {
            "attempt": 1, "failure_type": "http_429", "error_message": None}}),
        ("runner", {"name": "provider_reply", "detail": {"http_status": 200}}),
        ("message", {"role": "assistant", "content": "hm", "name": "reasoning"}),
        ("tool_call", {"call_id": "1", "tool_name": "df", "raw_arguments": '{"path":"/"}'}),
        ("tool_result", {"call_id": "1", "status": "error", "output": {"used": "48%"}}),
        ("message", {"role": "assistant", "content": "Full."}),
        ("final_output", {"content": "Full."}),
    ])  # fmt: skip
    (one,) = shown(run.runs_dir, "run-1").shown

    assert [(p.kind, p.name, p.text, p.is_error, p.after_ms) for p in one.parts] == [
        ("message", "system", HOSTILE, False, 0),
        ("runner", "retry_scheduled", "attempt 1\nfailure_type http_429", True, 400),
        ("runner", "provider_reply", "http_status 200", False, 800),
        ("message", "assistant (reasoning)", "hm", False, 1200),
        ("tool_call", "df", '{"path":"/"}', False, 1600),
        ("tool_result", "df", '{"used": "48%"}', True, 2000),
        ("message", "assistant", "Full.", False, 2400),
        ("final_output", "final output: the message above", "", False, 2800),
    ]
    assert one.missing is None
    assert (one.verdict, one.passed, one.n_parts_left_out) == ("did not pass", False, 0)
    assert any("the answer 0" in line for line in one.judged)
    assert dict(one.facts)["time"] == "400ms for the answer, first token after 100ms, " \
        "2.5s with waits and retries"  # fmt: skip


def test_a_turn_has_its_agent_and_what_its_answer_cost(run):
    reply = {"cost_usd": 0.25, "usage": {"output_tokens": 3}}
    summed = {"cost_usd": 9, "usage": {"usage_counts": "cumulative"}}
    traced(run, [
        ("runner", {"name": "provider_reply", "detail": reply}),
        ("message", {"role": "assistant", "content": "hi", "trajectory": "main/helper"}),
        ("runner", {"name": "provider_reply", "detail": summed}),
        ("runner", {"name": "provider_reply", "detail": {"cost_usd": "free"}}),
        ("runner", {"name": "provider_reply", "detail": {"cost_usd": -1}}),
        ("runner", {"name": "provider_reply", "detail": {"cost_usd": True}}),
    ])  # fmt: skip
    (one,) = shown(run.runs_dir, "run-1").shown

    assert [part.cost_usd for part in one.parts] == [0.25, None, None, None, None, None]
    assert [part.agent for part in one.parts][:2] == [None, "main/helper"]


def test_two_hundred_turns_are_there_whole(run):
    traced(run, turns(100))
    (one,) = shown(run.runs_dir, "run-1", budget=200_000).shown

    assert len(one.parts) == 202
    assert one.n_parts_left_out == 0
    assert not any(part.n_left_out for part in one.parts)
    assert sum(part.is_error for part in one.parts) == 11


def test_long_turns_lose_their_middle_before_any_turn_is_lost(run):
    traced(run, turns(20, 10_000))
    (one,) = shown(run.runs_dir, "run-1", budget=100_000).shown

    assert one.n_parts_left_out == 0
    assert bytes_of_transcript(one) <= 100_000 * MAX_SHARE
    for part in one.parts[1:-1]:
        head, mark, tail = part.text.partition(MARK)
        assert mark
        assert 8_000 < part.n_left_out < 10_000
        assert set(tail[:-2]) <= {"c", "r"}
        assert head.startswith((f"{(one.parts.index(part) - 1) // 2}: ", '{"text"'))


def test_too_many_turns_lose_pairs_in_the_middle_where_it_is_said(run):
    traced(run, turns(2_000, 400))
    (one,) = shown(run.runs_dir, "run-1", budget=50_000).shown
    markers = [n for n, part in enumerate(one.parts) if part.name == "left out here"]
    numbers = [
        (part.kind, int(part.text.removeprefix('{"text": "').partition(":")[0]))
        for part in one.parts
        if part.kind.startswith("tool")
    ]

    assert len(markers) == 1
    assert one.parts[markers[0]].text == f"{one.n_parts_left_out:,} turns"
    assert len(one.parts) - 1 + one.n_parts_left_out == 4_002
    assert one.parts[0].text == "Do it."
    assert one.parts[-1].text == "Done."
    calls = [number for kind, number in numbers if kind == "tool_call"]
    assert calls == [number for kind, number in numbers if kind == "tool_result"]
    assert {0, 1_999} < set(calls)


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(0, 3_000), st.booleans()), min_size=1, max_size=60),
    room=st.integers(0, 40_000),
    letter=st.sampled_from(["x", "é", "😀", "\x00"]),
)
def test_what_fits_is_never_more_than_the_room_and_nothing_is_uncounted(sizes, room, letter):
    events = []
    for n, (size, is_call) in enumerate(sizes):
        text = letter * size
        call = {"call_id": f"{n}", "tool_name": "t", "raw_arguments": text}
        result = {"call_id": f"{n}", "status": "success", "output": text}
        events += (
            [("tool_call", call), ("tool_result", result)]
            if is_call
            else [("message", {"role": "user", "content": text})]
        )
    found = Artifact.model_validate(trace("r", "m", "c", 1, *events)).trace
    parts = parts_of(found)
    kept = fitted(parts, room, units_of(found))
    whole = sum(len(text.encode()) for part in parts for text in strings(part.model_dump()))

    if kept is None:
        assert whole > room
        return
    used = sum(len(text.encode()) for part in kept.parts for text in strings(part.model_dump()))
    markers = [part for part in kept.parts if part.name == "left out here"]
    assert used <= room
    assert len(markers) == bool(kept.n_left_out)
    assert len(kept.parts) - len(markers) + kept.n_left_out == len(parts)
    assert (kept.parts == tuple(parts)) == (whole <= room)
    by_time = {part.after_ms: part for part in parts}
    gone = by_time.keys() - {part.after_ms for part in kept.parts if part not in markers}
    assert (
        [part.after_ms for part in markers] == [max(gone)][: len(markers)] if gone else not markers
    )
    for part in kept.parts:
        if part not in markers and len(parts) > 1:
            original = by_time[part.after_ms].text
            assert len(part.text.replace(MARK, "")) + part.n_left_out == len(original)
            assert part.n_left_out == 0 or len(original.encode()) > MIN_TEXT_BYTES


def test_the_budget_is_kept_to_the_byte(run):
    traced(
        run,
        turns(3, 500), turns(40, 2_000),
        [("message", {"role": "user", "content": HOSTILE * 400})], turns(500, 80), turns(1),
    )  # fmt: skip
    budgets = (*range(0, 12_000, 1_913), 30_000, 80_000, 200_000, PLENTY)
    for budget, transcripts in zip(budgets, shown_in(budgets, run.runs_dir, "run-1"), strict=True):
        packed = PackedTrials()
        for one in transcripts.shown:
            packed.add("trial", one)
            assert bytes_of_transcript(one) <= budget * MAX_SHARE
        assert not transcripts.shown or len(packed.embedded()) <= budget
    assert len(transcripts.shown) == 5


def test_the_same_lake_gives_the_same_transcripts(run):
    traced(run, turns(30, 900), turns(3), turns(200, 50))
    first, second = (shown(run.runs_dir, "run-1", budget=40_000) for _ in range(2))

    assert first == second


def test_hostile_text_stays_as_it_was(runs):
    runs.add("old", 0, result=lambda trial: {"raw_output": "fine"})
    runs.add(
        "new", 1, result=lambda trial: {"raw_output": HOSTILE, "passed": False},
    )  # fmt: skip
    flips, transcripts = reported(runs.runs_dir, "new", "old")

    assert flips[0].candidate_answer == HOSTILE
    assert transcripts.shown[0].parts[0].text == HOSTILE
    assert "\\u001b" in transcripts.shown[0].judged[1]
    assert json.loads(transcripts.model_dump_json())


def test_a_run_that_is_in_the_lake_only_shows_its_answers(run):
    traced(run, turns(1))
    histories.lake_only(run)
    (one,) = shown(run.runs_dir, "run-1").shown

    assert one.missing.startswith("the folder of the run is not here")
    assert [(part.kind, part.text) for part in one.parts] == [("final_output", "the answer 0")]


def test_a_torn_trace_is_told_and_the_answer_stands_in(run):
    traced(run, turns(1), turns(2))
    file = run.path / "artifacts" / "m1.jsonl.zst"
    file.write_bytes(file.read_bytes()[:-5])
    first, second = shown(run.runs_dir, "run-1").shown

    assert first.missing is None
    assert "torn" in second.missing
    assert second.parts[0].text == "the answer 1"


def test_an_answer_that_the_lake_cut_is_named_so(run):
    run.result(run.plan(), raw_output="begin", raw_output_truncated=True, passed=False)
    run.write()
    (one,) = shown(run.runs_dir, "run-1").shown

    assert one.parts[0].name == "final output: its first 64 KB"


def test_an_imported_run_is_shown(new_run):
    folder = histories.imported(new_run().runs_dir)
    transcripts = shown(folder.parent, folder.name)

    assert [one.why for one in transcripts.shown] == ["failed", "other", "other", "other"]
    assert transcripts.shown[0].parts[0].text == "old answer"
    assert transcripts.shown[0].judged == ("why  not_exact",)


def test_an_imported_run_with_traces_shows_every_turn_of_them(tmp_path):
    runs_dir = tmp_path / "runs"
    pae_tree.full_tree(tmp_path / "outputs")
    call("import", "pae", tmp_path / "outputs", "--runs", runs_dir)
    found = [one for one in shown(runs_dir, pae_tree.RUN_ID).shown if one.case_id == "tooled"]
    parts = [(part.kind, part.name) for part in found[0].parts]

    assert found[0].missing is None
    assert ("tool_call", "exec_shell") in parts
    assert ("tool_result", "exec_shell") in parts
    assert ("message", "assistant (reasoning)") in parts
    assert {part.after_ms for part in found[0].parts} == {None}  # the source has no times


def test_a_reused_answer_is_shown_with_the_trace_of_the_run_it_is_from(runs):
    old = runs.add("old", 0, cases=("x",), result=lambda trial: None)
    trial = old.trials[0]
    (path,) = old.write_traces(trace("old", "m1", "x", 1, *turns(1)))
    old.result(trial, artifact_path=path, run_fingerprint=sha("same"))
    old.mirror()
    runs.add("new", 1, cases=("x",), result=lambda trial: {
        "run_fingerprint": sha("same"), "reused_from_run_id": "old", "passed": False,
    })  # fmt: skip
    (one,) = shown(runs.runs_dir, "new").shown

    assert one.missing is None
    assert len(one.parts) == 4
    assert dict(one.facts)["reused"] == "from run old"


def test_what_a_case_expects_is_told_and_long_lines_of_it_are_cut(run):
    for n in range(3):
        run.result(run.plan(f"case-{n}"), passed=False)
    run.write()
    lines = b"".join(
        orjson.dumps(
            {"case_id": f"case-{n}", "validator": {"type": "exact", "value": f"{n} " * 9_000 * n}}
        )
        + b"\n"
        for n in range(3)
    )
    (run.path / "cases.jsonl.zst").write_bytes(zstandard.compress(lines))
    first, second, third = shown(run.runs_dir, "run-1").shown

    assert '  expected  {"value": ""}' in first.judged
    assert second.judged[1].startswith('  expected  {"value": "1 1 ')
    assert third.judged[1].endswith("…")
    assert len(third.judged[1]) < 1_100


def big_trace(run, *, head=3):
    """Write a frame that holds 256 MB, little of which is on the disk."""
    events = turns(head)[:-1]
    small = trace("run-1", "m1", "case-0", 1, *events)
    line = orjson.dumps(small)
    stamp = orjson.dumps(
        {"sequence": 99, "at_ms": 99_000, "event_type": "message", "role": "assistant"}
    )[:-1]
    folder = run.path / "artifacts"
    folder.mkdir(parents=True)
    with (folder / "m1.jsonl.zst").open("wb") as file:
        writer = zstandard.ZstdCompressor().stream_writer(file, closefd=False)
        writer.write(line[:-2] + b"," + stamp + b',"content":"')
        for _ in range(255):
            writer.write(b"a" * 2**20)
        writer.write(b'"}]}\n')
        writer.close()
    return "artifacts/m1.jsonl.zst#0"


def test_a_trace_of_256_mb_is_cut_and_costs_little_memory(run):
    path = big_trace(run)
    run.result(run.plan("case-0"), artifact_path=path, passed=False, raw_output="all as")
    run.write()
    (one,) = shown(run.runs_dir, "run-1", budget=100_000).shown

    assert [part.kind for part in one.parts] == [
        "message", *["tool_call", "tool_result"] * 3, "final_output",
    ]  # fmt: skip
    assert one.parts[-1].text == "all as"
    assert "longer than" in one.missing
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from analyze.show.trace_file import read_beginning\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak(); found = read_beginning(Path(sys.argv[1]), sys.argv[2], 1 << 22)\n"
        "print(type(found).__name__, (peak() - before) // 1024)\n"
    )
    command = [sys.executable, "-c", script, str(run.path), path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    kind, grown_mb = done.stdout.split()
    assert kind == "Beginning"
    assert int(grown_mb) < 100


def test_the_beginning_of_a_long_trace_has_whole_turns_only(run):
    whole = trace("run-1", "m1", "c", 1, *turns(50))
    (path,) = run.write_traces(whole)
    size = len(orjson.dumps(whole)) + 1
    known = read_trace(run.path, path)

    assert read_beginning(run.path, path, size) == known
    for most in range(10, size, 997):
        found = read_beginning(run.path, path, most)
        assert isinstance(found, Beginning)
        assert found.events == known.trace[: len(found.events)]
    assert len(found.events) > 80
    assert type(read_beginning(run.path, path + "9", size)) is NoTrace


def test_one_huge_answer_of_a_line_is_quick_everywhere(runs):
    """Answers as an import may leave them: a megabyte, without a trace."""

    def result(word, passed):
        return lambda trial: {"raw_output": (word + " ") * 200_000, "passed": passed}

    runs.add("old", 0, cases=("a", "b"), result=result("yes", passed=True))
    runs.add("new", 1, cases=("a", "b"), result=result("nein", passed=False))
    found = []

    cost = loops(lambda: found.extend(reported(runs.runs_dir, "new", "old", budget=50_000)))

    assert cost < 200
    flips, transcripts = found
    assert all(flip.is_cut for flip in flips)
    for one in transcripts.shown:
        (part,) = one.parts
        of = len("nein " if one.run_id == "new" else "yes ") * 200_000
        assert len(part.text.replace(MARK, "")) + part.n_left_out == of
        assert part.text.endswith(" ")
    assert len(transcripts.shown) == 4
    assert max(map(bytes_of_transcript, transcripts.shown)) <= 50_000 * MAX_SHARE


WORDS = st.lists(st.sampled_from(["the", "cat", "sat", "\n", " ", "on\n", "é", "\x00", "a\r\n"]))
ANSWERS = st.one_of(
    st.text(max_size=200),
    WORDS.map(" ".join),
    WORDS.map("".join),
    st.tuples(WORDS, st.integers(1, 60)).map(lambda said: " ".join(said[0] * said[1])),
)


@settings(max_examples=300, deadline=None)
@given(ANSWERS, ANSWERS)
def test_a_diff_gives_both_answers_back_and_has_no_neighbours_of_one_kind(base, candidate):
    parts = answer_diff(base, candidate)

    assert "".join(part.text for part in parts if part.kind != "candidate") == base
    assert "".join(part.text for part in parts if part.kind != "base") == candidate
    kinds = [part.kind for part in parts]
    assert all(one != other for one, other in pairwise(kinds))
    assert ("candidate", "base") not in set(pairwise(kinds))
    assert all(part.text for part in parts)
    if base == candidate:
        assert kinds in ([], ["same"])


def test_short_answers_are_compared_by_words_and_long_ones_by_lines():
    assert [(part.kind, part.text) for part in answer_diff("a b c", "a x c")] == [
        ("same", "a "), ("base", "b"), ("candidate", "x"), ("same", " c"),
    ]  # fmt: skip
    lines = [f"line {n} has words\n" for n in range(200)]
    other = [*lines[:50], "line 50 is new\n", *lines[51:]]
    assert [(part.kind, part.text) for part in answer_diff("".join(lines), "".join(other))] == [
        ("same", "".join(lines[:50])), ("base", lines[50]), ("candidate", "line 50 is new\n"),
        ("same", "".join(lines[51:])),
    ]  # fmt: skip


def test_spaces_are_pieces_and_scripts_without_spaces_are_compared_by_characters():
    assert [(part.kind, part.text) for part in answer_diff("one  two\n", "one two\n")] == [
        ("same", "one"), ("base", "  "), ("candidate", " "), ("same", "two\n"),
    ]  # fmt: skip
    assert [(part.kind, part.text) for part in answer_diff("東京は首都です", "京都は首都です")] == [
        ("base", "東"), ("same", "京"), ("candidate", "都"), ("same", "は首都です"),
    ]  # fmt: skip
    assert [(part.kind, part.text) for part in answer_diff("수도 서울", "수도 부산")] == [
        ("same", "수도 "), ("base", "서울"), ("candidate", "부산"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("base", "candidate"),
    [
        (" " * 399 + "a b" * 100, "\t" * 399 + "a c" * 100),
        ("x" * 10**6, "y" * 10**6),
        ("x " * 10**6, "y x " * 10**6),
        ("\n" * 10**6, "\n" * 10**5 + "end"),
        ("x a " * 199, "b x " * 199),
        ("".join(f"x\na{n}\n" for n in range(10**4)), "".join(f"x\nb{n}\n" for n in range(10**4))),
        ("x a " * 70, "".join(f"x b{n} " for n in range(140))),
    ],
)
def test_answers_made_to_be_slow_are_compared_quickly(base, candidate):
    parts = []

    cost = loops(lambda: parts.extend(answer_diff(base, candidate)))

    assert cost < 200
    assert "".join(part.text for part in parts if part.kind != "candidate") == base
    assert MAX_PAIRS < 100_000


def test_a_run_of_many_trials_gives_a_bounded_choice_with_every_model(runs):
    runs.add(
        "r", 0, models=("m1", "m2", "m3"), cases=tuple(f"case-{n:03d}" for n in range(150)),
        repetitions=(1, 2),
        result=lambda trial: {"passed": trial.model_id == "m3", "raw_output": "no"},
    )  # fmt: skip
    with open_context(runs.runs_dir, "r") as context:
        choice = choose_trials(context, (), 100)

    assert len(choice.trials) == 100
    assert (choice.n_trials, choice.n_not_passed) == (900, 600)
    assert {one.key.model_id for one in choice.trials} == {"m1", "m2"}
    assert {one.key.repetition for one in choice.trials} == {1}


@pytest.mark.parametrize("most", [1, 7, 39, 40, 41, 90])
def test_a_shorter_choice_is_the_beginning_of_a_longer_one(runs, most):
    runs.add(
        "r", 0, models=("m1", "m2"), cases=tuple(f"case-{n:02d}" for n in range(15)),
        repetitions=(1, 2, 3),
        result=lambda trial: {
            "passed": trial.repetition == 2 or (trial.repetition == 3 and trial.case_id > "case-04")
        },
    )  # fmt: skip
    with open_context(runs.runs_dir, "r") as context:
        every = choose_trials(context, (), 1_000)
        some = choose_trials(context, (), most)

    assert some.trials == every.trials[:most]
    assert (len(every.trials), some.n_not_passed) == (90, every.n_not_passed)
    assert [one.reason for one in every.trials] == ["failed"] * 40 + ["other"] * 50


def test_a_trial_of_a_resumed_run_is_shown_with_the_record_that_counts(run):
    trial = run.plan()
    run.result(trial, failure_type="http_500")
    run.result(trial, passed=False, raw_output="second try")
    run.write()
    transcripts = shown(run.runs_dir, "run-1")
    (one,) = transcripts.shown

    assert one.parts[0].text == "second try"
    assert dict(one.facts)["requests"].endswith("the last of 2 records of this trial")
    assert transcripts.n_not_passed == 1
