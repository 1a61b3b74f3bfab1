"""Parts that a package adds to benchlake: a format of tallies, read and written.

A tally is a line a case: `case_id pass` or `case_id fail`.
"""

from analyze.exporters import Exporter, ExportText
from analyze.importers import Importer
from analyze.importers.base import new_record, run_id_of, write_run
from analyze.importers.defaults import file_moment, result_of


def read(asked):
    """Make a run folder of a tally; its model is called as the file is."""
    name = asked.path.stem
    run_id = asked.run_id or run_id_of(name)
    files = {asked.path.name: asked.path}
    at_ms = file_moment(asked.path)
    record = new_record(
        sources=files,
        run_id=run_id,
        source_format="tally",
        source_name=asked.path.name,
        suite_id="tally",
        suite_title="Tally",
        started_at_ms=at_ms,
    )
    lines = [line.split() for line in asked.path.read_text().splitlines()]
    results = [
        result_of(
            run_id=run_id,
            suite_id="tally",
            case_id=case_id,
            prompt_id=case_id,
            repetition=1,
            model_id=name,
            provider="tally",
            model=name,
            started_at_ms=at_ms,
            ended_at_ms=at_ms,
            passed=verdict == "pass",
            objective_pass=verdict == "pass",
        )
        for case_id, verdict in lines
    ]
    return [write_run(asked.runs_dir, record, results, files)]


def text_of(verdicts):
    """Return the text of a tally: an id and whether it passed, each."""
    return "".join(f"{name} {'pass' if passed else 'fail'}\n" for name, passed in verdicts)


def of_run(wanted):
    """Return a tally a model."""
    return [
        ExportText(
            one.model_id,
            f"{one.model_id}.tally",
            text_of((case.instance_id, case.status == "resolved") for case in one.cases),
        )
        for one in wanted.chosen
    ]


def of_report(report, _style):
    """Return the tally of a report."""
    verdicts = ((one.instance_id, one.status == "resolved") for one in report.instances)
    return [ExportText("", "report.tally", text_of(verdicts))]


def is_tally(path):
    """Return whether a file is a tally."""
    return path.suffix == ".tally"


IMPORTER = Importer(frozenset({"--run-id"}), read, is_tally)
EXPORTER = Exporter((".tally",), of_run, of_report)
