"""One registry a kind: what is in it is there, and what people can choose is what is in it."""

from importlib import import_module
from typing import get_args

import pytest
import typer

from analyze import cli as analyze_cli
from analyze.charts import CHARTS, Chart
from analyze.commands import COMMANDS
from analyze.contracts import CONTRACTS
from analyze.exporters import EXPORTERS, Exporter
from analyze.importers import IMPORTERS, Importer
from analyze.query.catalog import VIEWS
from analyze.report.sections import SECTIONS, Section
from collect.config.endpoints import PROVIDERS
from collect.config.runners import RUNNERS
from collect.config.tools import TOOLS
from schemas.config.checks import CHECKS, Dimension
from schemas.config.validators import VALIDATORS
from schemas.output.report import RunReport
from schemas.registry import load_object
from tests.support.paths import ROOT

OPTIONS_OF_IMPORT = {
    option
    for param in typer.main.get_command(analyze_cli.app_for(["import"])).commands["import"].params
    for option in param.opts
}


@pytest.mark.parametrize("name", PROVIDERS.names)
def test_a_provider_can_be_loaded_and_asked(name):
    provider = load_object(PROVIDERS[name].opens)

    assert all(callable(getattr(provider, method)) for method in ("prepare", "ask", "aclose"))


@pytest.mark.parametrize("name", RUNNERS.names)
def test_a_runner_of_this_version_runs_trials_and_warms_up_where_it_says_so(name):
    kind = RUNNERS[name]
    methods = ("run", "aclose", "warm_up")[: 3 if kind.warms_up else 2]

    assert all(callable(getattr(load_object(kind.opens), method)) for method in methods)


@pytest.mark.parametrize("name", TOOLS.names)
def test_a_tool_can_be_loaded_and_says_what_it_takes(name):
    kind = TOOLS[name]
    parameters = kind.parameters

    assert all(callable(getattr(load_object(kind.opens), method)) for method in ("call", "aclose"))
    assert parameters["type"] == "object"
    assert set(parameters["required"]) <= parameters["properties"].keys()
    assert kind.description.endswith(".")
    assert f"| `{name}` |" in (ROOT / "docs" / "tools.md").read_text()


@pytest.mark.parametrize("name", VALIDATORS.names)
def test_a_validator_that_can_be_written_is_judged(name):
    spec = VALIDATORS[name]

    assert get_args(spec.record.model_fields["type"].annotation) == (name,)
    assert name == "noop" or callable(load_object(spec.judge))


@pytest.mark.parametrize("name", CHECKS.names)
def test_a_check_that_can_be_written_is_made(name):
    spec = CHECKS[name]

    assert get_args(spec.record.model_fields["kind"].annotation) == (name,)
    assert callable(load_object(spec.run))
    assert set(spec.dimensions) <= set(get_args(Dimension))


@pytest.mark.parametrize("name", CHARTS.names)
def test_a_chart_that_can_be_named_is_drawn_from_parts_of_a_report(name):
    chart = CHARTS[name]

    assert isinstance(chart, Chart)
    assert set(chart.parts) <= RunReport.model_fields.keys()


@pytest.mark.parametrize("name", SECTIONS.names)
def test_a_section_that_is_read_has_its_field_of_the_report(name):
    section = SECTIONS[name]

    assert isinstance(section, Section)
    assert section.read is None or name in RunReport.model_fields


@pytest.mark.parametrize("name", COMMANDS.names)
def test_a_command_is_a_file_of_its_name(name):
    target = COMMANDS[name].function

    assert target.partition(":")[0] == f"analyze.commands.{name.replace('-', '_')}"
    assert callable(load_object(target))


def test_a_file_of_a_command_is_in_the_help():
    there = {path.stem for path in (ROOT / "analyze" / "commands").glob("[a-z]*.py")}

    assert there == {name.replace("-", "_") for name in COMMANDS}


def test_the_collector_has_the_commands_of_its_page():
    app = typer.main.get_command(import_module("collect.cli").app)
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")

    assert app.commands
    assert [name for name in app.commands if f"collect {name}" not in page] == []


@pytest.mark.parametrize("name", IMPORTERS.names)
def test_a_format_that_can_be_read_has_options_of_the_command(name):
    importer = IMPORTERS[name]

    assert isinstance(importer, Importer)
    assert importer.options <= set(OPTIONS_OF_IMPORT)


@pytest.mark.parametrize("name", EXPORTERS.names)
def test_a_format_that_can_be_written_has_a_suffix(name):
    exporter = EXPORTERS[name]

    assert isinstance(exporter, Exporter)
    assert exporter.suffixes
    assert all(one.startswith(".") for one in exporter.suffixes)


@pytest.mark.parametrize("name", sorted({*IMPORTERS.names, *EXPORTERS.names}))
def test_a_format_is_in_the_list_of_commands(name):
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")

    assert name in page


def test_a_view_has_a_file_and_a_mart_has_a_contract():
    views = ROOT / "analyze" / "views"
    named = {path.name.partition(".")[0] for path in views.rglob("*.sql")}
    marts = {path.name.partition(".")[0] for path in (views / "marts").glob("*.sql")}

    assert len(VIEWS) == len({*VIEWS})
    assert named == {str(view).rpartition("/")[2] for view in VIEWS}
    assert marts <= set(CONTRACTS)
    assert {name: row.view for name, row in CONTRACTS.items()} == {name: name for name in CONTRACTS}
