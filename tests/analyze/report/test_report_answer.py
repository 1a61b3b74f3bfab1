"""The head and the foot of a report: how good each model is, where that is from, what it means."""

import json
import shlex
import shutil

import pytest

from analyze.query.run_list import read_run
from analyze.query.session import open_session
from analyze.report.build import build_report
from analyze.report.html.page import sections_of
from analyze.report.sections import SECTIONS
from analyze.report.sections.answer import answers_of, reported_run
from analyze.report.sections.glossary import entries, terms_for
from analyze.report.sections.provenance import provenance_of
from analyze.report.table import Table
from schemas.registry import load_object
from schemas.run.config import EffectiveSetting
from tests.support.compared_runs import Runs
from tests.support.histories import capable, imported, lake_only
from tests.support.paths import SAMPLES
from tests.support.report_context import context_of, limits_of
from tests.support.run_builder import DAY_MS, STARTED_AT_MS

pytestmark = pytest.mark.usefixtures("warm_engines")

CASES = tuple(f"c{number:02d}" for number in range(30))


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    runs_dir = tmp_path_factory.mktemp("samples") / "runs"
    shutil.copytree(SAMPLES, runs_dir, ignore=shutil.ignore_patterns("lake"))
    with open_session(runs_dir) as session:
        yield session


@pytest.fixture
def runs(new_run):
    return Runs(new_run, is_mirrored=False)


def answers(runs_dir, run_id, baseline=None):
    with open_session(runs_dir) as session:
        return answers_of(context_of(session, run_id, baseline))


def passing(**n_cases):
    """Return results of which each model passes so many cases, the first ones."""
    return lambda trial: {"passed": CASES.index(trial.case_id) < n_cases[trial.model_id]}


def test_the_best_model_comes_first_and_one_without_a_rate_last(runs):
    runs.add(
        "now", 1, ("a", "b", "none"), CASES,
        result=lambda trial: {"failure_type": "http_500"}
        if trial.model_id == "none"
        else passing(a=10, b=20)(trial),
    )  # fmt: skip

    first, second, last = answers(runs.runs_dir, "now")

    assert [one.model_id for one in (first, second, last)] == ["b", "a", "none"]
    assert (first.passed_rate, first.n_cases, first.n_scored) == (20 / 30, 30, 30)
    assert first.low < first.passed_rate < first.high
    assert (last.passed_rate, last.low, last.n_cases, last.is_leading) == (None, None, 0, False)
    assert {one.change for one in (first, second, last)} == {None}


def test_models_lead_as_long_as_no_common_case_shows_them_to_be_worse(runs):
    runs.add("now", 1, ("best", "near", "far"), CASES, result=passing(best=28, near=26, far=5))

    leading = {one.model_id: one.is_leading for one in answers(runs.runs_dir, "now")}

    assert leading == {"best": True, "near": True, "far": False}


def test_a_change_is_that_of_the_comparison_with_the_cases_that_flipped(runs):
    runs.add("before", 0, ("down", "up"), CASES, result=passing(down=28, up=5))
    runs.add("now", 1, ("down", "up", "new"), CASES, result=passing(down=10, up=25, new=1))

    found = {one.model_id: one for one in answers(runs.runs_dir, "now", "before")}
    down, up, new = found["down"], found["up"], found["new"]

    assert (down.change, down.n_broke, down.n_fixed) == ("regressed", 18, 0)
    assert down.difference == pytest.approx(-0.6)
    assert down.difference_low < -0.6 < down.difference_high < 0
    assert (up.change, up.n_broke, up.n_fixed) == ("improved", 0, 20)
    assert (new.change, new.difference, new.n_fixed) == (None, None, 0)


def test_rates_that_cannot_be_compared_are_not_put_side_by_side(samples):
    found = answers_of(context_of(samples, "night_07_outage", "night_03_prompt"))

    assert {one.change for one in found} == {"not_comparable", None}
    assert {(one.difference, one.difference_low) for one in found} == {(None, None)}


@pytest.mark.parametrize("run_id", sorted(path.name for path in SAMPLES.glob("*_*")))
def test_the_answer_says_what_the_summary_says(samples, run_id):
    context = context_of(samples, run_id)
    groups = {group.model_id: group for group in context.summary.models}

    for one in answers_of(context):
        group = groups[one.model_id]
        assert one.passed_rate == group.passed_rate
        assert one.n_scored == round((group.coverage or 0) * group.n_scorable)
        rows = samples.rows(
            "select count(distinct case_id), count(*) from results "
            "where run_id = ? and model_id = ? and passed is not null",
            [run_id, one.model_id],
        )
        assert rows == [(one.n_cases, one.n_scored)]


@pytest.mark.parametrize("n_scored", [0, 1, 2])
def test_a_single_case_has_its_verdicts_counted_although_it_has_no_interval(runs, n_scored):
    runs.add(
        "now", 1, cases=("a",), repetitions=(1, 2),
        result=lambda trial: {}
        if trial.repetition <= n_scored
        else {"failure_type": "http_500"},
    )  # fmt: skip

    (found,) = answers(runs.runs_dir, "now")

    assert (found.n_cases, found.n_scored) == (min(n_scored, 1), n_scored)
    assert found.low is None


def test_a_reported_run_says_what_was_asked_and_how_much_is_there(samples):
    night = reported_run(samples, read_run(samples, "night_07_outage"))

    assert (night.suite_id, night.suite_title) == ("nightly", "Every night")
    assert (night.n_cases, night.n_planned, night.n_total) == (8, 72, 72)
    assert (night.n_scored, night.n_scorable) == (34, 72)
    assert night.coverage == pytest.approx(34 / 72)
    assert (night.is_imported, night.shard) == (False, None)
    assert reported_run(samples, read_run(samples, "night_01")).labels == ("baseline",)
    assert reported_run(samples, read_run(samples, "older_tool")).is_imported


def test_a_shard_is_reported_as_the_part_that_it_is(runs):
    runs.add("now", 1, run_group="g", narrowed={"shard": "2/3"})
    with open_session(runs.runs_dir) as session:
        assert reported_run(session, read_run(session, "now")).shard == "2/3"


def test_provenance_says_who_answered_and_with_which_settings(samples):
    found = provenance_of(context_of(samples, "night_10_setting"))
    careful, playful = found.models

    assert found.host.cpu_count == 2
    assert {"benchlake", "duckdb", "git"} <= found.versions.keys()
    assert list(found.versions) == sorted(found.versions)
    assert found.suite_path == "configs/suites/nightly.yaml"
    assert all(len(digest) == 64 for digest in found.config_files.values())
    assert careful.served_models == ("smollm2-135m",)
    assert careful.routing is None
    assert playful.settings["temperature"] == "0.3"
    assert "stream" not in playful.settings  # a default


def test_provenance_names_upstreams_options_and_commit(runs):
    run = runs.add(
        "now", 1,
        result=lambda trial: {"routing": "unpinned", "served_provider": f"up-{trial.case_id}"},
    )  # fmt: skip
    config = json.loads((run.path / "config.json").read_text())
    config["models"][0] |= {
        "request_options": {"provider": {"only": ["x"]}},
        "settings": {
            "seed": EffectiveSetting(value=7, origin="case").model_dump(),
            "stream": EffectiveSetting(value=True, origin="default").model_dump(),
        },
    }
    config["warnings"] = ["careful"]
    (run.path / "config.json").write_text(json.dumps(config))
    inventory = json.loads((run.path / "inventory.json").read_text())
    inventory["config_commit"] = {"commit": "abc", "branch": None, "is_dirty": True}
    inventory["versions"] = {"git": "2.39", "node": {"error": "not found"}}
    (run.path / "inventory.json").write_text(json.dumps(inventory))

    with open_session(runs.runs_dir) as session:
        found = provenance_of(context_of(session, "now"))
    (model,) = found.models

    assert (model.served_providers, model.routing) == (("up-a", "up-b"), "unpinned")
    assert model.settings == {"request_options": '{"provider": {"only": ["x"]}}', "seed": "7"}
    assert (found.config_commit, found.is_config_dirty) == ("abc", True)
    assert found.versions == {"benchlake": "0", "git": "2.39"}
    assert found.warnings == ("careful",)


def test_provenance_of_a_run_without_its_folder_says_what_the_lake_knows(new_run, runs):
    lake_only(runs.add("now", 1, result=lambda _: {"served_model": "served"}))
    folder = imported(runs.runs_dir)

    with open_session(runs.runs_dir) as session:
        elsewhere = provenance_of(context_of(session, "now"))
        older = provenance_of(context_of(session, folder.name))

    assert (elsewhere.host, elsewhere.suite_path, elsewhere.config_commit) == (None, None, None)
    assert elsewhere.models[0].served_models == ("served",)
    assert elsewhere.versions == {"benchlake": "0"}
    assert (older.versions, older.models[0].base_url) == ({}, None)


def test_the_commands_of_a_report_make_it_again_and_go_deeper(runs):
    runs.add("before", 0)
    runs.add("now", 1)
    with open_session(runs.runs_dir) as session:
        alone = provenance_of(context_of(session, "now")).commands
        commands = provenance_of(context_of(session, "now", "before")).commands

    where = str(runs.runs_dir)
    assert shlex.split(commands[0]) == [
        "analyze", "report", where, "--run", "now", "--baseline", "before",
    ]  # fmt: skip
    assert [command.split()[1] for command in commands] == [
        "report", "show", "compare", "regressions", "runs",
    ]  # fmt: skip
    assert alone[0].endswith("--run now --baseline none")
    assert [command.split()[1] for command in alone] == ["report", "show", "regressions", "runs"]


def test_a_glossary_has_the_terms_of_the_sections_that_are_there():
    assert terms_for([]) == ()
    assert {term.field for term in terms_for(["failures"])} == {
        "failure_type", "cause", "counts_against_model", "n_trials",
    }  # fmt: skip
    assert len(terms_for(SECTIONS)) == len(entries())


def test_every_term_has_a_name_and_a_field_of_its_own_and_a_meaning():
    terms = terms_for(SECTIONS)

    assert len({term.name for term in terms}) == len({term.field for term in terms}) == len(terms)
    assert all(term.meaning.endswith(".") for term in terms)
    assert {name for entry in entries() for name in entry.sections} <= set(SECTIONS)


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.field)
def test_a_term_is_a_field_of_its_record(entry):
    assert entry.field.rpartition(".")[2] in load_object(entry.record).model_fields


def tables_of(report):
    """Return the tables of the page that are about numbers."""
    for section in sections_of(report):
        if section.id not in {"provenance", "glossary"}:
            for part in section.parts.values():
                parts = part if isinstance(part, list) else [part]
                yield from (one for one in parts if isinstance(one, Table))


def test_every_number_of_the_tables_is_explained(new_run):
    capable(new_run, "before", STARTED_AT_MS, 6, reps=2)
    now = capable(new_run, "now", STARTED_AT_MS + 40 * DAY_MS, 6, reps=2, e2e_ms=900)
    lost = now.plan("lost", 1, "good", provider="openrouter", model="acme/good")
    now.result(lost, failure_type="http_500")
    now.write()
    with open_session(now.runs_dir) as session:
        report = build_report(session, "now", baseline="before", limits=limits_of())

    numbers = {
        (table.name, column.title): column.meaning
        for table in tables_of(report)
        for column in table.columns
        if column.is_number and not column.key.startswith("model:")
    }

    assert {"leaderboard", "compared", "ratios", "frontier", "tiers", "failures"} <= {
        table for table, _ in numbers
    }
    assert [where for where, meaning in numbers.items() if not meaning] == []
