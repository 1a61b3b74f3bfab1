"""Verdicts in a notebook: typed records, frames of them, and the same as the commands say."""

import json
import re
import shutil

import polars as pl
import pytest

from analyze.api import History, frame, open_history
from schemas.config.known_issues import KnownFile, Quarantined
from schemas.config.project import Thresholds
from schemas.errors import ConfigError, RunNotFound
from schemas.output.comparison import Comparison, ThresholdsUsed
from tests.support.analyze_cli import call
from tests.support.paths import ROOT
from tests.support.two_nights import case_name, night

pytestmark = pytest.mark.usefixtures("warm_engines")

STEADY = [3, 3, 2, 3, 0, 3, 1, 3, 3, 3] * 4
DROPPED = [1, 3, 0, 2, 0, 1, 1, 1, 3, 0] * 4

ENTRY = Quarantined(suite_id="smoke", case_id=case_name(0), reason="flaky: 3 of 10", author="kim")


@pytest.fixture
def history(new_run):
    def slower(case, repetition, model_id):
        return {"e2e_ms": 1_500 + case}

    night(new_run, 0, STEADY, models=("a", "b"))
    run = night(new_run, 1, DROPPED, models=("a", "b"), result=slower)
    with open_history(run.runs_dir) as opened:
        yield opened


def test_a_comparison_is_the_record_that_the_command_prints(history, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = history.compare("previous", by_tag=True)
    said = call("compare", "previous", "--by", "tag", "--json")

    assert Comparison.model_validate_json(said.out) == found
    assert {group.verdict for group in found.groups} == {"regressed"}
    assert history.compare("night_01", "night_00").groups[0].verdict == "improved"


def test_models_limits_and_axes_are_taken_as_by_the_command(history):
    strict = ThresholdsUsed(thresholds=Thresholds(alpha=1e-9), path=None, sha256=None)

    assert history.compare("previous", limits=strict).groups[0].verdict == "inconclusive"
    (group,) = history.compare("latest", model="a", against="b").groups
    assert (group.model_id, group.candidate_model_id) == ("a", "b")
    assert "settings" in history.compare("previous", allow=["settings"]).allowed
    with pytest.raises(ConfigError, match="did you mean `settings`"):
        history.compare("previous", allow=["setings"])
    with pytest.raises(RunNotFound, match="night_00"):
        history.compare("nigth_00")


def test_a_gate_fails_on_the_drop_and_leaves_quarantined_cases_alone(history, tmp_path):
    found = history.gate(metrics=("passed_rate", "e2e_ms"), max_drop=0.1)
    file = tmp_path / "known.yaml"
    file.write_text(KnownFile(schema_version=1, quarantined=(ENTRY,)).model_dump_json())

    assert (found.outcome, found.exit_code) == ("failed", 1)
    assert [line.metric for line in found.lines] == ["passed_rate", "e2e_ms"] * 2
    for known in (file, KnownFile(schema_version=1, quarantined=(ENTRY,))):
        assert history.gate(quarantine=known).quarantined == (ENTRY,)
    assert history.gate("night_00", baseline="night_01").outcome == "passed"


def test_shifts_flaky_cells_and_sizes_are_records_too(history):
    assert (history.regressions().n_runs, history.regressions().shifts) == (2, ())
    assert len(history.regressions(model="a").skipped) < len(history.regressions().skipped)
    assert history.flaky(suite="smoke").n_cells == 80
    assert len(history.power(cases=30, repetitions=3).plans) == 2
    for wrong in (history.regressions, history.flaky, history.power):
        with pytest.raises(ConfigError, match="smoke"):
            wrong(suite="smoek")


def test_every_list_of_a_record_is_a_frame_with_whole_numbers_as_int64(history):
    found = history.compare("previous")
    groups, cases = frame(found, "groups"), frame(found, "cases")

    assert groups["verdict"].to_list() == ["regressed", "regressed"]
    assert groups["base_passed_rate"].to_list() == [0.8, 0.8]
    assert groups["difference_q"].max() <= 0.05
    assert cases.height == len(found.cases) == 48
    assert cases.filter(pl.col("flip") == "broke")["candidate_passed"].max() <= 1
    ratios = frame(found.groups[0], "ratios")
    assert ratios.filter(pl.col("metric") == "e2e_ms")["verdict"].to_list() == ["regressed"]
    for name in ("axes", "excluded", "groups", "tags", "cases"):
        kinds = set(frame(found, name).schema.values())
        assert not kinds & {pl.Int32, pl.UInt32, pl.Object, pl.Null}
    assert groups.schema["base_n_cases"] == pl.Int64


def test_a_frame_without_rows_has_its_columns(history):
    found = history.compare("night_00", "night_01", model="a", allow=["case"])
    empty = frame(found, "excluded")

    assert empty.height == 0
    assert empty.schema["axes"] == pl.List(pl.String)
    assert frame(found, "tags").filter(pl.col("low") > 0).height == 0
    rows = frame(history.regressions(), "shifts")
    assert rows.schema["series_suite_id"] == pl.String
    assert rows.schema["first_started_at_ms"] == pl.Int64


def test_a_field_that_lists_no_records_is_named_with_those_that_do(history):
    with pytest.raises(ValueError, match="groups"):
        frame(history.compare("previous"), "base")


def test_verdicts_are_part_of_the_history():
    assert {"compare", "gate", "regressions", "flaky", "power"} <= set(dir(History))


def test_the_python_of_the_page_about_comparing_runs(tmp_path, monkeypatch):
    """On a copy of the samples, as the page says."""
    shutil.copytree(
        ROOT / "data" / "samples" / "runs",
        tmp_path / "data" / "samples" / "runs",
        ignore=shutil.ignore_patterns("lake"),
    )
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "comparing.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {}

    exec(block, names)

    assert names["verdicts"] == {"careful": "inconclusive", "playful": "inconclusive"}
    assert names["groups"].height == 2
    assert json.loads(names["found"].model_dump_json())["base"]["run_ids"] == ["night_01"]
