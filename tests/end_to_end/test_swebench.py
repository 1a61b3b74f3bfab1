"""Reports of the installed SWE-bench harness, and ours of the same instances."""

import json
import random

import pytest

from analyze.exporters.predictions import predictions_of_report
from analyze.exporters.swebench import (
    HarnessInstance,
    of_report,
    swebench_file_name,
    swebench_json,
    swebench_report,
)
from schemas.formats.report_v2 import EvaluationReport
from schemas.formats.swebench import FAILURE_TIERS, swebench_problems
from schemas.io.json_text import read_json_text
from tests.support.analyze_cli import call
from tests.support.harness_outcomes import INSTANCES, MODEL, OUTSIDE, RUN_ID
from tests.support.paths import GOLDEN
from tests.support.real_swebench import evaluated, write_reports

pytestmark = pytest.mark.peers

OUTCOMES = ("resolved", "unresolved", "empty_patch", "error", "unreadable", "incomplete")
N_BY_CHANCE = 40
STYLE_4 = GOLDEN / "swebench/style4.json"
OF_CONTAINERS = {"unstopped_instances", "unstopped_containers", "unremoved_images"}


def v2_report():
    """A report with an instance of every class, of two reasons of failure and of none."""
    statuses = [
        ("a", "resolved", None, "diff a"),
        ("b", "fail", None, "diff b"),
        ("c", "fail", "missing_module", "diff c"),
        ("d", "fail", None, None),
        ("e", "fail", None, " \n"),
        ("f", "error", "execution_error", "diff f"),
        ("g", "error", "container_unavailable", "diff g"),
        ("h", "error", "unreadable_report", "diff h"),
        ("i", "skipped", None, None),
    ]
    names = ("instance_id", "status", "error_type", "solution_patch")
    return EvaluationReport(
        schema_version="2.0",
        run_id="night.2",
        model_name="acme/coder/large 2",
        dataset="d",
        start_time="2026-01-01T00:00:00Z",
        config={},
        instances=[dict(zip(names, values, strict=True)) for values in statuses],
        summary={},
    )


def by_chance(dice):
    """Return instances of any outcome with any reason, and what was predicted besides."""
    reasons = (None, None, *sorted(FAILURE_TIERS))
    instances = [
        HarnessInstance(f"repo__x-{number}", dice.choice(OUTCOMES), dice.choice(reasons))
        for number in dice.sample(range(100), dice.randint(1, 25))
    ]
    predicted = [one for one in instances if one.outcome != "incomplete"]
    n_outside = dice.randint(0 if predicted else 1, 3)
    return instances, [f"outside-{number}" for number in range(n_outside)]


class Harness:
    """What the installed harness wrote of several evaluations, and its table of reasons."""

    def __init__(self, folder):
        self.report = v2_report()
        self.every = evaluated(
            folder / "every", INSTANCES, outside=OUTSIDE, model=MODEL, run_id=RUN_ID
        )
        self.of_v2 = evaluated(
            folder / "v2",
            of_report(self.report),
            model=self.report.model_name,
            run_id=self.report.run_id,
            patches=predictions_of_report(self.report),
        )
        seeds = range(N_BY_CHANCE)
        self.by_chance = [(seed, *by_chance(random.Random(seed))) for seed in seeds]
        self.chances = [
            evaluated(folder / str(seed), instances, outside=outside)
            for seed, instances, outside in self.by_chance
        ]
        nothing = [HarnessInstance("a", "incomplete"), HarnessInstance("b", "incomplete")]
        self.only_outside = evaluated(folder / "beside", nothing, outside=OUTSIDE)
        self.tiers = write_reports(self.every, self.of_v2, self.only_outside, *self.chances)


@pytest.fixture(scope="module")
def harness(tmp_path_factory):
    return Harness(tmp_path_factory.mktemp("harness"))


def test_the_harness_writes_the_same_report_byte_by_byte(harness):
    ours = swebench_report(INSTANCES, style=5, outside=OUTSIDE)

    assert swebench_json(ours) == harness.every.report.read_text()
    assert swebench_file_name(MODEL, RUN_ID) == harness.every.report.name


def test_a_v2_report_exports_what_the_harness_writes_of_its_predictions(harness):
    ours = swebench_report(of_report(harness.report), style=5)

    assert swebench_json(ours) == harness.of_v2.report.read_text()


def test_any_mixture_of_outcomes_gives_the_report_of_the_harness(harness):
    for where, (seed, instances, outside) in zip(harness.chances, harness.by_chance, strict=True):
        text = swebench_json(swebench_report(instances, style=5, outside=outside))

        assert text == where.report.read_text(), f"seed {seed}"


def test_reports_of_the_harness_have_no_problem(harness):
    for where in (harness.every, harness.of_v2, *harness.chances):
        value, found = read_json_text(where.report.read_bytes())

        assert (*found, *swebench_problems(value)) == ()


def test_reasons_of_failures_are_those_of_the_installed_harness(harness):
    ours = {reason: tier == "infra_failure" for reason, tier in FAILURE_TIERS.items()}

    assert harness.tiers == ours


def there_and_back(folder, report, *more, style=5):
    """Import a report by the command and export it by the command; returns what that wrote."""
    imported = call("import", "swebench", report, *more, "--runs", folder / "runs")
    assert imported.code == 0, imported.err
    (run,) = (folder / "runs").glob("*/import.json")
    out = folder / "back.json"
    exported = call("export", "swebench", run.parent, "-o", out, "--style", style)
    assert exported.code == 0, exported.err
    return out.read_text()


def test_an_imported_report_comes_back_byte_by_byte(harness, tmp_path):
    where = harness.every
    more = ("--predictions", where.predictions, "--logs", where.logs)

    for name, options in (("alone", ()), ("with patches", more[:2]), ("with all", more)):
        folder = tmp_path / name
        assert there_and_back(folder, where.report, *options) == where.report.read_text(), name


@pytest.mark.parametrize("seed", range(6))
def test_any_imported_report_comes_back_byte_by_byte(harness, tmp_path, seed):
    where = harness.chances[seed]
    more = ("--predictions", where.predictions, "--logs", where.logs)

    assert there_and_back(tmp_path, where.report, *more) == where.report.read_text()


def test_a_report_of_predictions_that_are_all_outside_comes_back(harness, tmp_path):
    where = harness.only_outside

    assert there_and_back(tmp_path, where.report) == where.report.read_text()


def test_a_report_of_style_4_comes_back_in_style_4(tmp_path):
    wrote = json.loads(STYLE_4.read_text())

    back = json.loads(there_and_back(tmp_path, STYLE_4, style=4))

    assert {name: wrote[name] for name in wrote.keys() - OF_CONTAINERS}.items() <= back.items()
    assert back.keys() <= wrote.keys()


def test_predictions_come_back_as_they_were_handed_in(harness, tmp_path):
    where, out = harness.every, tmp_path / "back.jsonl"
    runs = ("--runs", tmp_path / "runs")
    call("import", "swebench", where.report, "--predictions", where.predictions, *runs)
    (run,) = (tmp_path / "runs").glob("*/import.json")

    done = call("export", "predictions", run.parent, "-o", out)

    assert done.code == 0, done.err
    expected = {
        one["instance_id"]: one | {"model_patch": one["model_patch"] or ""}
        for one in map(json.loads, where.predictions.read_text().splitlines())
        if one["instance_id"] not in OUTSIDE
    }
    predictions = [json.loads(line) for line in out.read_text().splitlines()]
    assert {one["instance_id"]: one for one in predictions} == expected


def test_a_v2_report_is_exported_by_the_command_as_the_harness_writes_it(harness, tmp_path):
    path, out = tmp_path / "report.json", tmp_path / "back.json"
    path.write_text(harness.report.model_dump_json())

    assert call("export", "swebench", path, "-o", out).code == 0
    assert out.read_text() == harness.of_v2.report.read_text()

    predictions = tmp_path / "back.jsonl"
    assert call("export", "predictions", path, "-o", predictions).code == 0
    assert predictions.read_text() == harness.of_v2.predictions.read_text()
