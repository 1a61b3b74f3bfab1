"""A chart that a package adds to `analyze chart`: how many trials of each model have a verdict."""

import altair as alt

from analyze.charts import Chart
from analyze.query.frames import frame


def draw(rows, report):
    """Return a bar a model."""
    title = f"Tally of {report.summary.run_id}"
    return alt.Chart(rows, title=title).mark_bar().encode(x="n_scorable:Q", y="model_id:N")


CHART = Chart(("summary",), lambda report: frame(report.summary, "models"), draw, "it has no model")
