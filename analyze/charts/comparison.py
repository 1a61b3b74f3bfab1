"""What changed against a base, model by model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from analyze.charts.theme import BETTER, INK, SAME, STEP, WIDTH, WORSE, finished

if TYPE_CHECKING:
    import polars as pl

VERDICTS = {"improved": BETTER, "regressed": WORSE, "unchanged": SAME, "inconclusive": SAME}


def comparison(groups: pl.DataFrame) -> Any:
    """Return paired differences of the passed rate with their 95 % intervals.

    Args:
        groups: `frame(comparison, "groups")`: candidate_model_id, verdict, difference_difference,
            difference_low, difference_high, difference_n_cases.
    """
    known = groups.drop_nulls("difference_difference")
    seen = [verdict for verdict in VERDICTS if verdict in set(known["verdict"])]
    axis = alt.Axis(title="difference of the passed rate, in points of 100", format="+.0%")
    base = alt.Chart(known).encode(
        y=alt.Y("candidate_model_id:N", title=None),
        color=alt.Color(
            "verdict:N",
            scale=alt.Scale(domain=seen, range=[VERDICTS[verdict] for verdict in seen]),
            title="verdict",
        ),
        tooltip=[
            alt.Tooltip("candidate_model_id:N", title="model"),
            alt.Tooltip("verdict:N"),
            alt.Tooltip("difference_difference:Q", title="difference", format="+.1%"),
            alt.Tooltip("difference_low:Q", title="from", format="+.1%"),
            alt.Tooltip("difference_high:Q", title="to", format="+.1%"),
            alt.Tooltip("difference_n_cases:Q", title="cases"),
        ],
    )
    interval = base.mark_rule(strokeWidth=3, opacity=0.6).encode(
        x=alt.X("difference_low:Q", axis=axis), x2="difference_high:Q"
    )
    point = base.mark_point(filled=True, size=90, opacity=1).encode(x="difference_difference:Q")
    zero = alt.Chart(known).mark_rule(color=INK, strokeDash=[3, 3]).encode(x=alt.datum(0))
    chart = (zero + interval + point).properties(width=WIDTH, height=alt.Step(STEP + 4))
    return finished(
        chart,
        "Against the base",
        "paired by case, with 95 % intervals; models that cannot be compared are left out",
    )
