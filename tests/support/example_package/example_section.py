"""A section that a package adds to the report: how many trials of each model passed."""

from analyze.report.sections import Section
from analyze.report.table import Cell, Column, Table, number


def read(context):
    """Return an object a model, as JSON has it."""
    rows = context.session.rows(
        "select model_id, count(*) filter (passed) from trials where run_id = ? group by all "
        "order by all",
        [context.run_id],
    )
    return [{"model_id": model_id, "n_passed": n} for model_id, n in rows]


def table(report):
    """Return a row a model."""
    meaning = "Trials that passed, repetitions and all."
    columns = (
        Column("model", "model_id"),
        Column("tally", "n_passed", is_number=True, meaning=meaning),
    )
    found = report.added.get("tally", [])
    rows = [[Cell(one["model_id"]), number(str(one["n_passed"]))] for one in found]
    return Table("tally", "Tally of each model", columns, rows)


def markdown(report):
    """Yield one part, under a title."""
    found = report.added.get("tally", [])
    yield ["## Tally", "", *(f"- {one['model_id']}: {one['n_passed']}" for one in found)]


SECTION = Section("Tally", show=table, read=read, markdown=markdown)
