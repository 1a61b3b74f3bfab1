"""`analyze gate` over folders of runs: from records on disk to an exit code."""

import hashlib
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from junitparser import JUnitXml

from analyze.render.text import cells
from schemas.output.regressions import GateResult
from tests.support.analyze_cli import call, forked, process
from tests.support.gates import narrow, night
from tests.support.interpreter import assert_are_modules, imported
from tests.support.paths import ROOT

pytestmark = pytest.mark.usefixtures("warm_engines")


@pytest.fixture
def gate(tmp_path):
    """Return the command over the runs of this test."""
    return lambda *args, **more: call("gate", *args, "--runs", tmp_path / "runs", **more)


@pytest.fixture(scope="module")
def dropped(shared_run):
    """Two nights with a real drop in between: a folder of runs that is only looked at."""
    night(shared_run, 1, bad=3)
    night(shared_run, 2, bad=14)
    return shared_run("any").runs_dir


@pytest.fixture
def gate_of_drop(dropped):
    """Return the command over these."""
    return lambda *args, **more: call("gate", *args, "--runs", dropped, **more)


@pytest.fixture
def answer(gate):
    """Return what it says as a record."""

    def asked(*args):
        done = gate(*args, "--json")
        assert done.err == ""
        result = GateResult.model_validate_json(done.out)
        assert result.exit_code == done.code
        return result

    return asked


def test_a_proven_drop_is_bad_news_with_the_cases_to_look_at(gate_of_drop):
    done = gate_of_drop()

    assert done.code == 1
    assert done.out.startswith("gate: failed\n")
    assert "-36.7 points" in done.out
    assert "broke   case-003  good   3 of 3     0 of 3" in done.out
    assert "analyze show night-02 case-003 good" in done.out
    assert "with night-02 as its candidate and --confirm FRESH_RUN" in " ".join(done.out.split())


def test_an_inconclusive_night_passes_and_says_what_it_could_not_see(new_run, gate):
    night(new_run, 1, bad=3)
    night(new_run, 2, bad=5)
    done = gate()

    assert done.code == 0
    assert "no regression shown; drops under " in done.out
    assert "points would be seen less than four times in five" in " ".join(done.out.split())
    assert "too few for p to reach 0.05" in done.out


def test_an_outage_cannot_be_judged_and_names_its_causes(new_run, gate):
    night(new_run, 1)
    night(new_run, 2, failing=15)
    done = gate()

    assert done.code == 3
    assert done.out.startswith("gate: cannot judge\n")
    assert "candidate: only 50.0 % of the trials have a verdict" in done.out
    assert "45 provider" in done.out
    assert "collect run --resume night-02" in done.out


def test_fewer_than_five_cases_cannot_be_judged(new_run, gate):
    night(new_run, 1, n_cases=4)
    night(new_run, 2, n_cases=4, bad=4)
    done = gate()

    assert done.code == 3
    assert "4 cases have a verdict on both sides; a gate needs 5" in done.out


def test_cases_whose_content_changed_leave_nothing_to_compare(new_run, gate):
    night(new_run, 1)
    night(new_run, 2, bad=30, planned={"case_hash": "f" * 64})
    done = gate()

    assert done.code == 3
    assert "--allow case" in done.out
    assert gate("--allow", "case").code == 1


def test_a_failing_model_is_not_hidden_by_one_that_passes(new_run, answer):
    night(new_run, 1, models=("good", "half"), bad=3)
    night(new_run, 2, models=("good", "half"), bad={"good": 3, "half": 20})
    result = answer()

    assert [(line.model_id, line.outcome) for line in result.lines] == [
        ("good", "passed"),
        ("half", "failed"),
    ]
    assert result.exit_code == 1
    assert answer("--model", "good").exit_code == 0


def test_a_model_without_a_baseline_is_named(new_run, gate):
    night(new_run, 1)
    night(new_run, 2, models=("good", "new"))
    done = gate()

    assert done.code == 0
    assert "only in the candidate: new" in done.out


def test_the_tolerated_drop_is_held_against_the_difference(new_run, gate):
    night(new_run, 1)
    night(new_run, 2, bad=9)

    assert gate("--max-drop", "0.29").code == 1
    assert gate("--max-drop", "0.31").code == 0


def test_a_proof_is_asked_for(new_run, gate):
    night(new_run, 1, n_cases=60, bad=6)
    night(new_run, 2, n_cases=60, bad=6)
    unproven = gate("--prove")

    assert unproven.code == 3
    assert "--max-drop names what you can live with" in " ".join(unproven.out.split())
    assert gate("--prove", "--max-drop", "0.01").code == 3
    assert gate("--prove", "--max-drop", "0.15").code == 0


def test_a_proven_drop_fails_a_gate_that_is_to_prove_too(new_run, gate):
    night(new_run, 1)
    night(new_run, 2, bad=20)

    assert gate("--prove", "--max-drop", "0.1").code == 1


def test_a_slower_model_fails_only_where_time_is_judged(new_run, gate):
    for number in range(1, 9):  # without a history nights are taken to vary by 12 %
        night(new_run, number, e2e_ms=400)
    night(new_run, 9, e2e_ms=600)

    assert gate().code == 0
    slower = gate("--metric", "e2e_ms,passed_rate")
    assert slower.code == 1
    assert "failed: good, answer time" in slower.out
    assert "passed: good, passed rate" in slower.out
    assert gate("--metric", "e2e_ms", "--metric", "passed_rate", "--max-drop", "0.6").code == 0


def test_a_metric_that_nobody_measured_cannot_be_judged(new_run, gate):
    night(new_run, 1)
    night(new_run, 2)

    assert gate("--metric", "cost_usd").code == 3


def test_cases_in_quarantine_are_not_tested_and_named(new_run, gate, answer, tmp_path):
    night(new_run, 1, bad=3)
    night(new_run, 2, bad=11)
    entries = "".join(
        f'[[quarantined]]\nsuite_id = "smoke"\ncase_id = "case-{n:03d}"\n'
        f'reason = "flaky: 3 of 10"\nauthor = "ana"\n'
        for n in (*range(3, 11), 99)
    )
    path = tmp_path / "known.toml"
    path.write_text(f"schema_version = 1\n{entries}")
    result = answer("--quarantine", path)
    text = gate("--quarantine", path).out

    assert gate().code == 1
    assert result.exit_code == 0
    assert len(result.quarantined) == 8
    assert [entry.case_id for entry in result.unused] == ["case-099"]
    assert result.comparison.groups[0].difference.n_cases == 22
    assert "in quarantine: smoke/case-003 with every model (flaky: 3 of 10; ana)" in text
    assert "in quarantine, but no case of this test: smoke/case-099" in text


def test_an_entry_holds_to_its_last_day_and_is_named_after_it(new_run, answer, gate, tmp_path):
    night(new_run, 1, bad=3)
    night(new_run, 2, bad=11)
    today = datetime.now(UTC).date()
    path = tmp_path / "known.yaml"

    def until(day):
        entries = "".join(
            f"- {{suite_id: smoke, case_id: case-{n:03d}, model_id: good, reason: flaky, "
            f"author: ben, until: {day.isoformat()}}}\n"
            for n in range(3, 11)
        )
        path.write_text(f"schema_version: 1\nquarantined:\n{entries}")

    until(today + timedelta(days=1))
    assert answer("--quarantine", path).exit_code == 0
    until(today - timedelta(days=1))
    result = answer("--quarantine", path)

    assert result.exit_code == 1
    assert (len(result.expired), result.quarantined, result.unused) == (8, (), ())
    assert "no longer in quarantine, and tested: smoke/case-003" in gate("--quarantine", path).out


@pytest.mark.parametrize(("bad", "code"), [(14, 1), (3, 0)])
def test_a_failure_stands_only_when_a_fresh_run_fails_too(new_run, gate, bad, code):
    night(new_run, 1, bad=3)
    night(new_run, 2, bad=14)
    night(new_run, 3, bad=bad)
    done = gate("night-02", "--baseline", "night-01", "--confirm", "night-03")

    assert done.code == code
    assert "confirming  night-03" in done.out
    assert ("night-03 says the same" if code else "night-03 does not confirm this") in done.out


def test_a_confirming_run_that_broke_off_can_neither_confirm_nor_clear(new_run, gate):
    night(new_run, 1, bad=3)
    night(new_run, 2, bad=14)
    night(new_run, 3, failing=20)
    done = gate("night-02", "--baseline", "night-01", "--confirm", "latest")

    assert done.code == 3
    assert "night-03 can neither confirm nor clear this" in done.out


def confirming(new_run, gate, number=3, **fields):
    night(new_run, 1)
    night(new_run, 2, bad=14)
    run_id = night(new_run, number, bad=14, **fields)
    return gate("night-02", "--baseline", "night-01", "--confirm", run_id)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"number": 0}, "it did not start after the candidate"),
        ({"reused_from_run_id": "night-01"}, "90 of its answers are from older runs"),
        (
            {"n_cases": 14},
            "it does not ask good/case-014, good/case-015, good/case-016 and 13 more",
        ),
        ({"models": ("half",)}, "it does not ask good/case-000"),
    ],
)
def test_a_run_that_is_not_fresh_and_whole_cannot_confirm(new_run, gate, fields, expected):
    done = confirming(new_run, gate, **fields)

    assert done.code == 2
    assert expected in done.err


def test_a_narrowed_run_cannot_confirm_a_whole_one(new_run, gate):
    night(new_run, 1)
    night(new_run, 2, bad=14)
    narrow(new_run, night(new_run, 3, bad=14), tags=("all",))
    asked = ("night-02", "--baseline", "night-01", "--confirm", "night-03")

    assert "which selects cases" in gate(*asked).err


@pytest.mark.parametrize(
    ("other", "expected"),
    [("night-02", "is the candidate itself"), ("night-01", "in the baseline")],
)
def test_the_runs_of_the_comparison_itself_cannot_confirm_it(gate_of_drop, other, expected):
    done = gate_of_drop("night-02", "--baseline", "night-01", "--confirm", other)

    assert (done.code, expected in done.err) == (2, True)


def test_the_last_runs_are_pooled_as_repetitions(new_run, answer):
    for number in range(1, 10):
        night(new_run, number, bad=3)
    night(new_run, 10, bad=3)
    three, history = answer("--baseline", "last:3"), answer("--baseline", "history")

    assert three.comparison.base.run_ids == ("night-07", "night-08", "night-09")
    assert three.comparison.base.asked == "last:3"
    assert three.comparison.groups[0].base.n_scored == 270
    assert history.comparison.base.run_ids == tuple(f"night-{n:02d}" for n in range(3, 10))


def test_runs_before_the_last_level_shift_are_no_baseline(new_run, answer):
    for number in range(1, 9):
        night(new_run, number, bad=14)
    for number in range(9, 14):
        night(new_run, number, bad=2)
    night(new_run, 14, bad=2)
    result = answer("--baseline", "history")

    assert result.comparison.base.run_ids == tuple(f"night-{n:02d}" for n in range(9, 14))
    assert result.exit_code == 0


def test_a_night_of_outage_is_no_part_of_a_history(new_run, answer):
    for number in (1, 2, 4, 5):
        night(new_run, number, bad=2)
    night(new_run, 3, failing=20)
    night(new_run, 6, bad=2)
    result = answer("--baseline", "last:4")

    assert result.comparison.base.run_ids == ("night-01", "night-02", "night-04", "night-05")


def test_a_run_that_asked_otherwise_is_passed_over_in_a_history(new_run, answer):
    for number in (1, 2, 4):
        night(new_run, number, bad=2)
    parts = {"case": "a" * 16, "settings": "0" * 16, "endpoint": "a" * 16, "harness": "a" * 16}
    night(new_run, 3, bad=2, planned={"fingerprint_parts": parts})
    night(new_run, 5, bad=2)
    result = answer("--baseline", "last:2")

    assert result.comparison.base.run_ids == ("night-02", "night-04")


def test_each_model_has_a_history_of_its_own(new_run, answer):
    night(new_run, 1, models=("half",), bad=3)
    night(new_run, 2, models=("good", "half"), bad=3)
    night(new_run, 3, models=("good",), bad=3)
    night(new_run, 4, models=("good", "half"), bad=3)
    result = answer("--baseline", "last:2")
    runs = {group.model_id: group.base.run_ids for group in result.comparison.groups}

    assert runs == {"good": ("night-02", "night-03"), "half": ("night-01", "night-02")}


def test_a_history_without_a_usable_run_is_a_usage_error(new_run, gate):
    night(new_run, 1, failing=30)
    night(new_run, 2)
    done = gate("--baseline", "history")

    assert done.code == 2
    assert "no run before `night-02` can be its baseline" in done.err


def test_the_first_run_of_all_has_nothing_before_it(new_run, gate):
    night(new_run, 1)

    assert gate().code == 3
    assert gate("--baseline", "history").code == 3


def test_a_junit_report_lists_every_case(new_run, gate, tmp_path):
    night(new_run, 1, bad=3)
    night(new_run, 2, bad=14, failing=1)
    done = gate("--junit", tmp_path / "out" / "gate.xml")
    parsed = JUnitXml.fromfile(str(tmp_path / "out" / "gate.xml"))
    tests = {test.name: test for suite in parsed for test in suite}

    assert done.code == 1
    assert (parsed.tests, parsed.failures, parsed.skipped) == (31, 12, 1)
    assert tests["case-003"].is_failure
    assert tests["case-029"].result[0].message == "no verdict: 3 provider"
    assert tests["case-000"].system_out == "0 of 3 passed"


def test_a_report_that_cannot_be_written_is_a_usage_error(gate_of_drop, tmp_path):
    (tmp_path / "file").write_text("")
    done = gate_of_drop("--junit", tmp_path / "file" / "gate.xml")

    assert done.code == 2
    assert "cannot be written" in done.err


def test_markdown_has_the_verdict_first(gate_of_drop):
    out = gate_of_drop("--format", "md").out

    assert out.startswith("## Gate: failed\n")
    assert "| failed | good | passed rate | 90.0 -&gt; 53.3 % passed, -36.7 points" in out
    assert "| broke | case-003 | good | 3 of 3 | 0 of 3 |" in out


@pytest.mark.parametrize("columns", [80, 120])
def test_text_fits_the_terminal_but_for_commands(new_run, gate, columns):
    night(new_run, 1, models=("good", "half"), bad=3)
    night(new_run, 2, models=("good", "half"), bad=14, failing=1)
    lines = gate(columns=columns).out.splitlines()

    assert max(cells(line) for line in lines if "analyze show" not in line) <= columns


@pytest.mark.parametrize(
    "wrong",
    [
        ("--metric", "speed"),
        ("--max-drop", "2"),
        ("--min-coverage", "-1"),
        ("--allow", "nothing"),
        ("--baseline", "last:0"),
        ("--baseline", "label:none"),
        ("--quarantine", "none.toml"),
        ("--confirm", "none"),
        ("night-99",),
        ("--format", "md", "--json"),
    ],
)
def test_what_is_asked_wrongly_is_a_usage_error(gate_of_drop, wrong):
    assert gate_of_drop(*wrong).code == 2


def test_as_a_process_of_its_own(dropped):
    done = process("gate", "--baseline", "night-01", "--json", cwd=dropped.parent)

    assert (done.code, done.err) == (1, "")
    assert json.loads(done.out)["outcome"] == "failed"


def test_a_run_of_another_suite_is_never_the_one_before(new_run, answer):
    night(new_run, 1, bad=3)
    cases = [f"case-{n:03d}" for n in range(6)]
    new_run("other", day=2).night(cases, models=("good",), plan={"suite_id": "other"})
    night(new_run, 3, bad=3)

    assert answer().comparison.base.run_ids == ("night-01",)


def test_what_needs_a_look_stands_first(new_run, gate):
    night(new_run, 1, models=("a", "b", "c"), bad=3)
    night(new_run, 2, models=("a", "b", "c"), bad={"a": 3, "b": 3, "c": 20})
    out = gate().out

    assert out.startswith("gate: failed (2 passed, 1 failed)\n")
    assert out.index("failed: c, passed rate") < out.index("passed: a, passed rate")


def test_shards_of_one_plan_are_one_run_of_a_history(new_run, answer):
    for number in range(1, 5):
        shard_of(new_run, night(new_run, number, bad=3), number // 3)
    night(new_run, 5, bad=3)
    result = answer("--baseline", "last:1")

    assert result.comparison.base.run_ids == ("night-03", "night-04")


def shard_of(new_run, run_id, group):
    path = new_run(run_id).path / "config.json"
    path.write_text(path.read_text().replace('"run_group": null', f'"run_group": "g{group}"'))


def test_a_gate_loads_no_tables_and_no_charts(dropped):
    assert call("sync", "--runs", dropped).code == 0
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "analyze", "gate", "--no-sync"],
        cwd=dropped.parent, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True,
        text=True, check=False, timeout=60,
    )  # fmt: skip

    assert done.returncode == 1, "it judged"
    loaded = imported(done.stderr)
    assert "duckdb" in loaded, "they are listed"
    heavy = {"scipy", "pyarrow", "polars", "altair", "junitparser"}
    assert_are_modules(*heavy)
    assert not loaded & heavy


def test_a_fresh_run_of_one_model_confirms_that_model(new_run, gate):
    night(new_run, 1, models=("good", "half"))
    night(new_run, 2, models=("good", "half"), bad={"good": 14, "half": 0})
    night(new_run, 3, models=("good",), bad=14)
    asked = ("night-02", "--baseline", "night-01", "--confirm", "night-03")

    assert gate(*asked).code == 2
    assert gate(*asked, "--model", "acme/good").code == 1


def test_text_from_files_is_only_text(gate_of_drop, tmp_path):
    path = tmp_path / "known.toml"
    path.write_text(
        'schema_version = 1\n[[quarantined]]\nsuite_id = "smoke"\ncase_id = "case-001"\n'
        'reason = "\\u001b[31m <b>|"\nauthor = "\\u202eana"\n'
    )

    screen = " ".join(gate_of_drop("--quarantine", path).out.split())  # wherever a line ended

    assert "\\x1b[31m <b>|; \\u202eana" in screen
    assert "&lt;b&gt;\\|" in gate_of_drop("--quarantine", path, "--format", "md").out


def test_what_differs_and_was_allowed_is_to_know_and_in_the_test(new_run, gate):
    night(new_run, 1)
    night(new_run, 2, bad=5, planned={"case_hash": "f" * 64})
    refused, allowed = gate(), gate("--allow", "case")

    assert "not in the test:\n  case (what is asked or checked) differs" in refused.out
    assert "not in the test:" not in allowed.out
    assert "to know:\n  case (what is asked or checked) differs in 30 of 30 cases" in allowed.out
    assert "30 cases, allowed" in " ".join(allowed.out.split())


def test_the_file_of_the_thresholds_is_named_with_its_hash(new_run, tmp_path):
    night(new_run, 1)
    night(new_run, 2)
    project = tmp_path / "benchlake.yaml"
    project.write_text("schema_version: 1\nthresholds: {min_coverage: 0.5}\n")
    digest = hashlib.sha256(project.read_bytes()).hexdigest()
    outputs = [forked("gate", *form, cwd=tmp_path).out for form in ((), ("--format", "md"))]

    assert f"thresholds  benchlake.yaml, sha256 {digest[:12]}\n" in outputs[0]
    assert f"- thresholds: benchlake.yaml, sha256 {digest[:12]}\n" in outputs[1]
