"""Level shifts found in histories of real run folders: what is one, and what never is."""

import datetime
import shutil

import pytest

from analyze.query.session import open_session
from analyze.regressions.alerts import find_regressions
from analyze.regressions.detect import runs_since_shift
from analyze.regressions.points import read_points
from schemas.config.known_issues import Acknowledged, KnownFile
from schemas.config.project import Thresholds
from schemas.errors import ConfigError
from schemas.output.comparison import ThresholdsUsed
from tests.support.histories import imported
from tests.support.nights import Nights
from tests.support.run_builder import DAY_MS, STARTED_AT_MS

pytestmark = pytest.mark.usefixtures("warm_engines")

LIMITS = ThresholdsUsed(thresholds=Thresholds(), path=None, sha256=None)


@pytest.fixture
def nights(tmp_path):
    """An empty history of one suite."""
    return Nights(tmp_path / "runs")


def found_in(nights, **options):
    with open_session(nights.runs_dir) as session:
        return find_regressions(session, limits=LIMITS, **options)


def whys(found):
    return {(one.metric, one.why) for one in found.skipped}


def test_a_drop_is_one_alert_that_names_its_first_run_its_size_and_what_changed(nights):
    nights.add(8, rates={"m": 1.0, "other": 0.9}, served="one")
    nights.add(6, rates={"m": 0.6, "other": 0.9}, served="two", benchlake_version="0.2")
    (shift,) = found_in(nights).shifts
    assert (shift.series.suite_id, shift.series.model_id) == ("smoke", "m")
    assert (shift.series.provider, shift.series.model) == ("openrouter", "acme/m")
    assert (shift.series.metric, shift.direction, shift.is_worse) == ("passed_rate", "down", True)
    assert (shift.last_run_before, shift.first_run) == ("night-008", "night-009")
    assert shift.first_started_at_ms == STARTED_AT_MS + 9 * DAY_MS
    assert (shift.n_before, shift.n_after, shift.n_cases) == (8, 6, 10)
    assert (shift.before, shift.after) == (1.0, pytest.approx(0.6, abs=0.12))
    assert shift.low < shift.size == shift.after - shift.before < shift.high
    assert shift.changed == ("served_model: one -> two", "benchlake_version: 0 -> 0.2")
    assert shift.warnings == ("the server says that it serves another model since",)
    assert shift.together == ()


def test_more_nights_keep_the_name_of_an_alert(nights):
    nights.add(8, rates={"m": 0.95})
    nights.add(4, rates={"m": 0.5})
    (early,) = found_in(nights).shifts
    nights.add(6, rates={"m": 0.5})
    (late,) = found_in(nights).shifts
    assert (late.first_run, late.direction, late.seen_in, late.p) == (
        early.first_run,
        early.direction,
        early.seen_in,
        early.p,
    )
    assert late.n_after == early.n_after + 6


def test_an_outage_is_no_alert_and_its_runs_are_said_to_be_left_out(nights):
    nights.add(8, rates={"m": 0.9})
    nights.add(4, rates={"m": 0.9}, lost=0.6)
    nights.add(4, rates={"m": 0.9})
    found = found_in(nights)
    assert (found.shifts, found.cell_shifts) == ((), ())
    why = "4 of 16 runs left out: more than a tenth of the verdicts is missing"
    assert (None, why) in whys(found)


def test_one_bad_night_is_no_alert(nights):
    nights.add(9, rates={"m": 0.9})
    nights.add(1, rates={"m": 0.2})
    nights.add(6, rates={"m": 0.9})
    found = found_in(nights)
    assert (found.shifts, found.cell_shifts) == ((), ())


def test_a_changed_prompt_is_no_alert_and_begins_another_level(nights):
    nights.add(8, rates={"m": 0.95})
    nights.add(4, rates={"m": 0.4}, hashes="new")
    found = found_in(nights)
    assert (found.shifts, found.cell_shifts) == ((), ())
    why = "4 runs since its cases changed with `night-009`; 6 are needed"
    assert ("passed_rate", why) in whys(found)


def test_with_allow_case_a_changed_prompt_is_compared_by_its_id(nights):
    nights.add(8, rates={"m": 0.95})
    nights.add(6, rates={"m": 0.4}, hashes="new")
    (shift,) = found_in(nights, allow=("case",)).shifts
    assert shift.first_run == "night-009"
    assert shift.changed[0] == "case"


def test_runs_of_a_few_cases_do_not_break_a_series(nights):
    nights.add(6, rates={"m": 1.0})
    nights.add(2, rates={"m": 1.0}, only=2)
    nights.add(5, rates={"m": 0.5})
    found = found_in(nights)
    (shift,) = found.shifts
    assert (shift.last_run_before, shift.first_run) == ("night-006", "night-009")
    assert (None, "2 of 13 runs left out: a part of the suite only") in whys(found)


def test_a_changed_judge_is_named_with_a_warning(nights):
    nights.add(7, rates={"m": 0.95}, judge_hash="a" * 64)
    nights.add(6, rates={"m": 0.5}, judge_hash="b" * 64)
    (shift,) = found_in(nights).shifts
    assert shift.changed == ("judge",)
    (warning,) = shift.warnings
    assert "the judge changed" in warning


def test_parts_of_the_fingerprint_that_changed_are_named(nights):
    nights.add(7, rates={"m": 0.95})
    nights.add(6, rates={"m": 0.5}, parts={"model_build": "new", "settings": "other"})
    (shift,) = found_in(nights).shifts
    assert "settings" in shift.changed


def test_a_slower_machine_shifts_the_times_of_all_models_together(nights):
    nights.add(10, rates={"m": 0.9, "other": 0.9})
    nights.add(10, rates={"m": 0.9, "other": 0.9}, e2e_ms=600, machine=1)
    first, second = found_in(nights).shifts
    assert {first.series.metric, second.series.metric} == {"e2e_ms"}
    assert (first.series.model_id, first.together) == ("m", ("other",))
    assert (first.before, first.after) == (pytest.approx(400, 0.05), pytest.approx(600, 0.05))
    assert first.size == pytest.approx(1.5, 0.05)
    assert first.changed == ("machine: 2 cores, 8 GiB -> 1 cores, 8 GiB",)
    assert "the machine that measured changed" in first.warnings[0]
    assert first.method == "t_scan"


def test_what_changed_a_run_or_two_beside_the_break_is_named_with_its_run(nights):
    nights.add(7, rates={"m": 0.95}, judge_hash="a" * 64)
    nights.add(2, rates={"m": 0.95}, judge_hash="b" * 64)
    nights.add(1, rates={"m": 0.3}, judge_hash="b" * 64)
    nights.add(6, rates={"m": 0.3}, judge_hash="b" * 64, machine=4, parts={"model_build": "new"})
    (shift,) = found_in(nights).shifts
    assert shift.first_run == "night-010"
    assert shift.changed == (
        "model_build (in night-011)",
        "machine: 2 cores, 8 GiB -> 4 cores, 8 GiB (in night-011)",
        "judge (in night-008)",
    )
    (warning,) = shift.warnings
    assert warning.startswith("the judge changed close to it (in night-008), so ")


def test_what_changed_three_runs_away_is_not_named(nights):
    nights.add(6, rates={"m": 0.95}, judge_hash="a" * 64)
    nights.add(3, rates={"m": 0.95}, judge_hash="b" * 64)
    nights.add(3, rates={"m": 0.3}, judge_hash="b" * 64)
    nights.add(6, rates={"m": 0.3}, judge_hash="b" * 64, machine=4)
    (shift,) = found_in(nights).shifts
    assert (shift.first_run, shift.changed, shift.warnings) == ("night-010", (), ())


def test_what_changes_every_night_is_named_once_where_it_is_nearest(nights):
    for night in range(16):
        nights.add(1, rates={"m": 0.95 if night < 9 else 0.3}, served="ab"[night % 2])
    (shift,) = found_in(nights).shifts
    assert shift.first_run == "night-010"
    assert shift.changed == ("served_model: a -> b",)


def test_an_outage_between_a_change_and_the_break_does_not_hide_it(nights):
    nights.add(9, rates={"m": 0.95})
    nights.add(2, rates={"m": 0.95}, machine=4, lost=0.6)
    nights.add(1, rates={"m": 0.95}, machine=4)
    nights.add(6, rates={"m": 0.3}, machine=4)
    (shift,) = found_in(nights).shifts
    assert shift.first_run == "night-013"
    assert shift.changed == ("machine: 2 cores, 8 GiB -> 4 cores, 8 GiB (in night-012)",)


def test_a_cost_that_rose_is_given_in_usd_a_trial(nights):
    nights.add(10, rates={"m": 0.9}, cost_usd=0.002)
    nights.add(10, rates={"m": 0.9}, cost_usd=0.003)
    (shift,) = found_in(nights).shifts
    assert shift.series.metric == "cost_usd"
    assert (shift.before, shift.after) == (pytest.approx(0.002), pytest.approx(0.003))
    assert shift.is_worse


def test_a_single_cell_is_found_by_itself(nights):
    nights.n_cases = 25  # one case is less than the margin
    nights.add(8, rates={"m": 0.95})
    nights.add(8, rates={"m": 0.95}, cases={"case-03": 0.0})
    found = found_in(nights)
    (cell,) = found.cell_shifts
    assert (cell.case_id, cell.first_bad_run, cell.last_run_before) == (
        "case-03",
        "night-009",
        "night-008",
    )
    assert (cell.direction, cell.is_worse, cell.n_runs) == ("down", True, 16)
    assert (cell.after_passed, cell.after_scored, cell.before_scored) == (0, 24, 24)
    assert cell.p <= cell.q <= 0.05
    assert found.n_cells == 25
    assert found.shifts == ()


def test_of_a_cell_only_what_is_about_its_case_is_named(nights):
    nights.n_cases = 25
    nights.add(8, rates={"m": 0.95})
    folder = nights.runs_dir
    nights.add(8, rates={"m": 0.95}, cases={"case-03": 0.0}, machine=4)
    for run_id in ("night-009", "night-010"):
        plan = folder / run_id / "plan.jsonl"
        lines = plan.read_text().splitlines()
        other = [line.replace('"harness":"', '"harness":"f') for line in lines if "case-05" in line]
        plan.write_text("\n".join([*(x for x in lines if "case-05" not in x), *other]) + "\n")
    (cell,) = found_in(nights).cell_shifts
    assert cell.changed == ("machine: 2 cores, 8 GiB -> 4 cores, 8 GiB",)


def test_cells_that_shift_with_their_series_are_named_in_its_one_alert(nights):
    nights.add(10, rates={"m": 0.95})
    nights.add(10, rates={"m": 0.95}, cases={f"case-{n:02d}": 0.05 for n in range(5)})
    found = found_in(nights)
    (shift,) = found.shifts
    assert shift.cells == tuple(f"case-{n:02d}" for n in range(5))
    assert found.cell_shifts == ()


def entry(**fields):
    base = {
        "suite_id": "smoke", "model_id": "m", "metric": "passed_rate", "first_run": "night-009",
        "direction": "down", "reason": "known", "author": "ann",
    }  # fmt: skip
    return Acknowledged(**(base | fields))


def test_an_entry_silences_the_shift_it_names_and_the_others_are_named(nights):
    nights.add(8, rates={"m": 1.0})
    nights.add(6, rates={"m": 0.5})
    wrong = [entry(direction="up"), entry(first_run="night-003"), entry(model_id="x")]
    known = KnownFile(schema_version=1, acknowledged=(*wrong, entry()))
    found = found_in(nights, known=known)
    assert [one.acknowledged for one in found.shifts] == [entry()]
    assert found.unused == tuple(wrong)
    assert found_in(nights, known=known, model="m").unused == tuple(wrong[:2])


def test_of_two_entries_for_one_shift_the_first_holds_and_neither_is_without_one(nights):
    nights.add(8, rates={"m": 1.0})
    nights.add(6, rates={"m": 0.5})
    both = (entry(), entry(author="bob"))
    found = found_in(nights, known=KnownFile(schema_version=1, acknowledged=both))
    assert [one.acknowledged for one in found.shifts] == [entry()]
    assert found.unused == ()


def test_an_entry_of_a_cell_holds_when_its_first_run_may_as_well_be_the_named_one(nights):
    nights.n_cases = 25  # one case is less than the margin
    nights.add(8, rates={"m": 0.95})
    nights.add(8, rates={"m": 0.95}, cases={"case-03": 0.0})
    for first_run, is_silent in (("night-010", True), ("night-003", False), ("nowhere", False)):
        known = entry(case_id="case-03", first_run=first_run)
        found = found_in(nights, known=KnownFile(schema_version=1, acknowledged=(known,)))
        assert [one.acknowledged is not None for one in found.cell_shifts] == [is_silent]
        assert bool(found.unused) is not is_silent


def test_the_shards_of_a_plan_are_one_run(nights):
    nights.add(7, rates={"m": 1.0})
    for night in range(5):
        nights.add(1, rates={"m": 0.5}, run_id=f"shard-{night}-b", run_group=f"g{night}")
        nights.add(1, rates={"m": 0.5}, run_id=f"shard-{night}-a", run_group=f"g{night}")
    found = found_in(nights)
    (shift,) = found.shifts
    assert (shift.first_run, shift.n_after) == ("shard-0-b", 5)
    assert found.n_runs == 17


def test_the_shards_of_a_plan_are_dated_by_the_one_that_started_last(nights):
    nights.add(7, rates={"m": 1.0})
    for night in range(6):
        nights.add(1, rates={"m": 0.5}, run_id=f"shard-{night}-a", run_group=f"g{night}")
        nights.add(1, rates={"m": 0.5}, run_id=f"shard-{night}-b", run_group=f"g{night}")
    with open_session(nights.runs_dir) as session:
        starts = dict(session.rows("select run_id, started_at_ms from runs"))
        point = next(one for one in read_points(session) if one.run_id == "shard-0-a")

    assert starts["shard-0-a"] < starts["shard-0-b"]
    assert point.run_ids == ("shard-0-a", "shard-0-b")
    assert point.started_at_ms == starts["shard-0-b"]
    (shift,) = found_in(nights).shifts
    assert (shift.first_run, shift.first_started_at_ms) == ("shard-0-a", starts["shard-0-b"])


def test_a_cell_that_rose_is_no_part_of_a_series_that_fell(nights):
    nights.n_cases = 20
    nights.add(9, rates={"m": 1.0}, cases={"case-03": 0.0})
    nights.add(9, rates={"m": 0.5}, cases={"case-03": 1.0})

    found = found_in(nights)

    (shift,) = (one for one in found.shifts if one.series.metric == "passed_rate")
    assert shift.direction == "down"
    assert "case-03" not in shift.cells
    assert [(one.case_id, one.direction) for one in found.cell_shifts] == [("case-03", "up")]


def test_since_leaves_out_what_began_before_and_changes_no_number(nights):
    nights.add(8, rates={"m": 1.0})
    nights.add(8, rates={"m": 0.5})
    nights.add(8, rates={"m": 1.0})
    up, down = found_in(nights).shifts
    assert (up.direction, down.direction) == ("up", "down")
    day = datetime.datetime.fromtimestamp(up.first_started_at_ms / 1000, datetime.UTC).date()
    for since in (up.first_run, f"{day}"):
        assert found_in(nights, since=since).shifts == (up,)
    age_days = (datetime.datetime.now(datetime.UTC).date() - day).days
    for days, shown in ((age_days + 2, (up,)), (age_days - 2, ())):
        assert found_in(nights, since=f"{days}d").shifts == shown
    assert found_in(nights, since="night-001").shifts == (up, down)
    for wrong in ("2026-02-30", "yesterday"):
        with pytest.raises(ConfigError, match=wrong):
            found_in(nights, since=wrong)


def test_an_older_folder_has_no_known_cases_until_they_are_allowed(tmp_path):
    for number in range(7):
        imported(tmp_path / "runs", f"2025010{number + 1}_000000")
    nights = Nights(tmp_path / "runs")
    found = found_in(nights)
    assert found.n_series == 0
    assert any("--allow case" in why for _, why in whys(found))
    assert found_in(nights, allow=("case",)).n_series == 2


def test_without_runs_there_is_nothing(tmp_path):
    (tmp_path / "runs").mkdir()
    found = found_in(Nights(tmp_path / "runs"))
    assert (found.n_runs, found.n_series, found.n_cells, found.shifts) == (0, 0, 0, ())


def test_a_suite_and_a_model_can_be_looked_at_alone(nights):
    nights.add(8, rates={"m": 1.0, "other": 1.0})
    nights.add(6, rates={"m": 0.5, "other": 0.5})
    nights.add(2, rates={"m": 0.5}, suite_id="else")
    assert found_in(nights, suite="else").n_runs == 2
    for name in ("other", "acme/other"):
        assert [one.series.model_id for one in found_in(nights, model=name).shifts] == ["other"]


def test_the_runs_since_the_last_shift_are_those_of_the_level_and_before_the_run(nights):
    nights.add(8, rates={"m": 1.0, "other": 1.0})
    nights.add(3, rates={"m": 0.5, "other": 1.0})
    nights.add(1, rates={"m": 0.5, "other": 1.0}, lost=0.5)
    nights.add(1, rates={"m": 0.5, "other": 1.0}, only=2)
    last = nights.add(3, rates={"m": 0.5, "other": 1.0})
    with open_session(nights.runs_dir) as session:
        metrics = ("passed_rate", "e2e_ms", "ttft_ms", "cost_usd")
        since = runs_since_shift(session, "smoke", "m", last[-1], metrics)
        level = ("night-009", "night-010", "night-011", *last[:-1])
        every = tuple(f"night-{number:03d}" for number in range(1, 9)) + level
        assert since == {"passed_rate": level} | dict.fromkeys(metrics[1:], every)
        other = runs_since_shift(session, "smoke", "other", last[-1])
        assert other["passed_rate"][0] == "night-001"
        for model_id, run_id in (("m", "night-001"), ("nobody", last[-1])):
            assert runs_since_shift(session, "smoke", model_id, run_id) == {"passed_rate": ()}


def test_a_long_history_is_read_in_stretches_and_comes_to_the_same(nights, monkeypatch):
    nights.add(8, rates={"m": 0.95}, cost_usd=0.001)
    nights.add(8, rates={"m": 0.5}, cost_usd=0.001)
    whole = found_in(nights)
    monkeypatch.setattr("analyze.regressions.points.MAX_BATCH_TRIALS", 70)
    assert found_in(nights) == whole


def test_a_lake_without_folders_says_the_same(nights):
    nights.add(8, rates={"m": 0.95})
    nights.add(8, rates={"m": 0.5})
    before = found_in(nights)
    for folder in nights.runs_dir.glob("night-*"):
        shutil.rmtree(folder)
    assert found_in(nights) == before
