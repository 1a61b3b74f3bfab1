"""A text in what models, agents and tools said, as a query of the lake.

A scan: there is no index, so nothing has to be built or kept up to date. The engine's regular
expressions read faster than its search for a plain text in any case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyze.query.run_ref import resolve_run
from analyze.sql.guard import bind
from analyze.steps.question import case_of, model_of

if TYPE_CHECKING:
    from analyze.query.session import Session

BEFORE, AFTER = 60, 140
"""Characters of an excerpt on either side of the first place where the text stands."""

COLUMNS = """
    run_id, case_id, model_id, repetition as rep, step_no as step, kind, who, excerpt
"""
"""Of a list of hits."""


@dataclass(frozen=True)
class TextQuestion:
    """What is looked for, and where."""

    text: str
    run: str | None = None
    """What `resolve_run` takes; None: every run."""
    case: str | None = None
    model: str | None = None
    """A model_id, model string or label."""
    regex: bool = False
    """The text is a regular expression (RE2)."""


def search_query(session: Session, asked: TextQuestion, *, whole: bool) -> str:
    """Return the query for steps, and answers of trials without steps, that hold a text.

    Upper and lower case are the same unless the text has a capital.

    Args:
        session: the open lake.
        asked: what and where.
        whole: every column, for programs; else what a terminal shows.

    Raises:
        RunNotFound: there is no such run.
        ConfigError: there is no such case or model; names the nearest.
        QueryFailed: the text has no form in SQL.
    """
    run_id = None if asked.run is None else resolve_run(session, asked.run)
    pattern = asked.text if asked.regex else quoted(asked.text)
    case = "c" if any(letter.isupper() for letter in asked.text) else "i"
    conditions, values = ["true"], []
    for column, value in (
        ("run_id", run_id),
        ("case_id", case_of(session, run_id, asked.case)),
        ("model_id", model_of(session, run_id, asked.model)),
    ):
        if value is not None:
            conditions.append(f"{column} = ?")
            values.append(value)
    where = " and ".join(conditions)
    place = f"strpos(text, regexp_extract(text, ?, 0, '{case}'))"
    texts = (
        "select run_id, record_no, step_no, text from stg_step_texts",
        "select run_id, record_no, null, raw_output from stg_outputs",
    )
    hits = " union all ".join(
        bind(
            f"select run_id, record_no, step_no, {place} as position, "  # noqa: S608 - values are bound
            f"substr(text, greatest({place} - {BEFORE}, 1), {BEFORE + AFTER}) as excerpt "
            f"from ({text} where {where}) as texts(run_id, record_no, step_no, text) "
            f"where regexp_matches(text, ?, '{case}')",
            [pattern, pattern, *values, pattern],
        )
        for text in texts
    )
    line = "excerpt" if whole else r"regexp_replace(excerpt, '\s+', ' ', 'g') as excerpt"
    columns = "*" if whole else COLUMNS
    return f"""
        with hits as ({hits}),
        told as (
            select
                hits.run_id, trials.provider, trials.model, trials.thinking_level, trials.model_id,
                trials.suite_id, trials.case_id, trials.repetition, hits.record_no, hits.step_no,
                steps.trajectory, steps.turn_no, coalesce(steps.kind, 'answer') as kind,
                steps.role, steps.tool, coalesce(steps.tool, steps.role, 'assistant') as who,
                hits.position, {line}
            from hits
            inner join trials on hits.run_id = trials.run_id and hits.record_no = trials.record_no
            left join stg_steps as steps
                on hits.run_id = steps.run_id and hits.record_no = steps.record_no
                and hits.step_no = steps.step_no
            where hits.step_no is not null or not exists (
                select 1 from stg_steps as others
                where others.run_id = hits.run_id and others.record_no = hits.record_no
            )
        )
        select {columns} from told
        order by run_id, case_id, model_id, repetition, step_no
    """  # noqa: S608 - values are bound


def quoted(text: str) -> str:
    """Return a regular expression of RE2 that a text alone matches."""
    return rf"\Q{text.replace(chr(92) + 'E', chr(92) + 'E' + chr(92) * 2 + 'E' + chr(92) + 'Q')}\E"
