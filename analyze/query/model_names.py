"""What models of a lake are called: the newest run that gives a model a label says its name.

Read where something is shown to people, and where people name a model.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from schemas.errors import ConfigError, Problem
from schemas.run.model_names import NO_NAMES, ModelNames

if TYPE_CHECKING:
    from analyze.query.session import Session

LABELS = """
select model_labels
from raw_runs
where cardinality(model_labels) > 0
order by started_at_ms nulls first, run_id, recorded_at_ms
"""
"""Of every description of a run: all of them have the same, and to take the newest costs more."""

IDS = "select distinct model_id from int_group_models where model_id in (select unnest(?))"

ASKED = "select 1 from int_group_models where ? in (model_id, model) limit 1"


def read_names(session: Session) -> ModelNames:
    """Return the names of all models of a lake.

    Raises:
        ViewError: the lake cannot be read.
    """
    labels: dict[str, str] = {}
    for (of_run,) in session.rows(LABELS):
        labels |= of_run
    if not labels:
        return NO_NAMES
    from schemas.base import SLUG_PATTERN  # noqa: PLC0415 - loads pydantic

    said = [label.strip() for label in labels.values()]
    like_ids = [label for label in said if re.match(SLUG_PATTERN, label)]
    ids = [model_id for (model_id,) in session.rows(IDS, [like_ids])] if like_ids else []
    return ModelNames(labels, ids)


def meant_model(session: Session, text: str | None) -> str | None:
    """Return what a model is asked for by: its id where a label was said, else the text itself.

    A model_id or a model string goes before a label.

    Args:
        session: the open lake.
        text: what was said; None: nothing.

    Raises:
        ConfigError: it is the label of several models; names their ids.
    """
    if text is None or not (ids := read_names(session).called(text)):
        return text
    if session.rows(ASKED, [text]):
        return text
    if len(ids) > 1:
        listed = ", ".join(f"`{one}`" for one in ids)
        what = f"`{text}` is the label of several models; name one by its model_id"
        raise ConfigError([Problem(None, what, "--model", allowed=listed)])
    return ids[0]
