"""Which run is meant: a run id, a path to its folder, `latest`, `previous` or `label:NAME`.

Knows nothing of what a run holds; the lake's own list of runs decides what there is, so a run that
another machine made is found as well.

Models have names too: the newest run that gives a model a label says its name. They are read where
something is shown to people, and where people name a model.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.errors import ConfigError, Problem, RunNotFound, nearest, runs_place
from schemas.run.layout import is_run_folder
from schemas.run.model_names import NO_NAMES, ModelNames

if TYPE_CHECKING:
    from analyze.query.session import Session

LABEL = "label:"

MAX_NAMED = 20
"""Names in a message; the nearest one is named apart."""

LABELS = """
select model_labels
from raw_runs
where cardinality(model_labels) > 0
order by started_at_ms nulls first, run_id, recorded_at_ms
"""
"""Of every description of a run: all of them have the same, and to take the newest costs more."""

IDS = "select distinct model_id from int_run_models where model_id in (select unnest(?))"

ASKED = "select 1 from int_run_models where ? in (model_id, model) limit 1"


@dataclass(frozen=True)
class KnownRun:
    """As much of a run as it takes to choose it."""

    run_id: str
    suite_id: str
    started_at_ms: int | None
    labels: tuple[str, ...]


RUN_WORDS = ("latest", "previous", f"{LABEL}NAME")
"""What a run can be called beside its id and its path."""


def resolve_run(session: Session, text: str, words: Sequence[str] = RUN_WORDS) -> str:
    """Return the run_id that a text means.

    `latest` is the run that started last, `previous` the one before it of the same suite, and
    `label:NAME` the newest with that label. These words go before a run id, so that an
    older run by such a name is named by its path, and a run id goes before a path.

    Args:
        session: the open lake.
        text: what was said.
        words: what else the caller takes, for the message.

    Raises:
        RunNotFound: there is none; the message names what is near.
        ConfigError: there is no previous one, or the folder is there and not in the lake.
    """
    runs = known_runs(session)
    by_id = {run.run_id: run for run in runs}
    if text == "latest" and runs:
        return runs[0].run_id
    if text == "previous" and runs:
        return _previous(session, runs)
    if text in by_id:
        return text
    if text.startswith(LABEL):
        return _labelled(session, runs, text, words)
    if is_run_folder(folder := Path(text)):
        run_id = _place(session.runs_dir, folder).name
        if run_id in by_id:
            return run_id
        raise _not_in_lake(folder)
    if is_run_folder(session.runs_dir / text):
        raise _not_in_lake(session.runs_dir / text)
    raise RunNotFound(text, session.runs_dir, by_id, _with_labels(words, runs))


def known_runs(session: Session) -> list[KnownRun]:
    """Return every run of the lake, the newest first; runs without a start come last."""
    return [
        KnownRun(run_id, suite_id, started_at_ms, tuple(labels))
        for run_id, suite_id, started_at_ms, labels in session.rows(
            "select run_id, suite_id, started_at_ms, labels from stg_runs "
            "order by started_at_ms desc nulls last, run_id desc"
        )
    ]


def runs_dir_of(runs_dir: Path, text: str) -> Path:
    """Return the folder of runs to open: the one around a run's folder that is named by its path.

    An id in the folder that `--runs` names goes before a path.
    """
    folder = Path(text)
    if is_run_folder(runs_dir / text) and len(folder.parts) == 1 and text != ".":
        return runs_dir
    return _place(runs_dir, folder).parent if is_run_folder(folder) else runs_dir


def _place(runs_dir: Path, folder: Path) -> Path:
    """Return where a run's folder is; a link among the runs to one elsewhere is a run there."""
    real, named = folder.resolve(), Path(os.path.abspath(folder))  # noqa: PTH100 - keeps the link
    among = runs_dir.resolve()
    return named if real.parent != among == named.parent.resolve() else real


def run_folder(session: Session, run_id: str) -> Path | None:
    """Return the folder of a run; None when another machine made it, or it was deleted."""
    folder = session.runs_dir / run_id
    return folder if is_run_folder(folder) else None


def _previous(session: Session, runs: Sequence[KnownRun]) -> str:
    latest, *older = runs
    same = [run for run in older if run.suite_id == latest.suite_id]
    if not same:
        what = (
            f"`{latest.run_id}` is the only run of suite `{latest.suite_id}` in "
            f"{runs_place(session.runs_dir)}: there is no previous one"
        )
        raise ConfigError([Problem(None, what)])
    return same[0].run_id


def _labelled(session: Session, runs: Sequence[KnownRun], text: str, words: Sequence[str]) -> str:
    name = text.removeprefix(LABEL)
    if found := [run.run_id for run in runs if name in run.labels]:
        return found[0]
    ids = [run.run_id for run in runs]
    raise RunNotFound(text, session.runs_dir, ids, _with_labels(words, runs))


def _with_labels(words: Sequence[str], runs: Sequence[KnownRun]) -> list[str]:
    """Return words with the labels that there are in place of `label:NAME`."""
    labels = sorted({f"{LABEL}{label}" for run in runs for label in run.labels})[:MAX_NAMED]
    return [
        name for word in words for name in (labels if labels and word == RUN_WORDS[-1] else [word])
    ]


def _not_in_lake(folder: Path) -> ConfigError:
    what = f"{folder} is a run, but nothing of it is in the lake; `analyze sync` says why"
    return ConfigError([Problem(None, what)])


def require_suite(session: Session, suite_id: str) -> None:
    """Check that there is a run of a suite.

    Raises:
        ConfigError: there is none; names the nearest.
    """
    rows = session.rows("select distinct suite_id from int_run_models")
    _require_known(suite_id, {name for (name,) in rows}, "suite")


def require_model(session: Session, model: str) -> None:
    """Check that a model was asked in some run, by its model_id or its model string.

    Raises:
        ConfigError: there is none; names the nearest, and each id with its label.
    """
    rows = session.rows("select distinct model_id, model from int_run_models")
    known = {name for row in rows for name in row}
    if model not in known:
        names = read_names(session)
        listed = {name for model_id, string in rows for name in (names.listed(model_id), string)}
        raise _unknown(model, "model", listed, known.union(map(names.of, known)))


def require_known(session: Session, suite_id: str | None, model: str | None) -> None:
    """Check that there is a run of a suite, and one of a model, where they are given.

    Raises:
        ConfigError: there is none; names the nearest.
    """
    if suite_id is not None:
        require_suite(session, suite_id)
    if model is not None:
        require_model(session, model)


def require_label(session: Session, label: str) -> None:
    """Check that a run has a label.

    Raises:
        ConfigError: none has; names the nearest.
    """
    _require_known(label, {name for run in known_runs(session) for name in run.labels}, "label")


def _require_known(wanted: str, there: Iterable[str], what: str) -> None:
    known = sorted(there)
    if wanted not in known:
        raise _unknown(wanted, what, known, known)


def _unknown(wanted: str, what: str, listed: Iterable[str], known: Iterable[str]) -> ConfigError:
    """Return the error of a name that no run has; `known` are those of which one is nearest."""
    allowed = ", ".join(sorted(listed)[:MAX_NAMED]) or "there is none yet"
    near = nearest(wanted, sorted(known))
    return ConfigError(
        [Problem(None, f"no run has {what} `{wanted}`", allowed=allowed, nearest=near)]
    )


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


def model_for(session: Session, text: str | None) -> str | None:
    """Return what a model is asked for by: its id where a label was said, else the text itself.

    A model_id or a model string goes before a label.

    Raises:
        ConfigError: it is the label of several models; names their ids.
    """
    if text is None or not (ids := read_names(session).ids_of(text)):
        return text
    if session.rows(ASKED, [text]):
        return text
    if len(ids) > 1:
        listed = ", ".join(f"`{one}`" for one in ids)
        what = f"`{text}` is the label of several models; name one by its model_id"
        raise ConfigError([Problem(None, what, "--model", allowed=listed)])
    return ids[0]


def unknown_name(what: str, name: str, known: Sequence[str]) -> ConfigError:
    """Return the error for a name that is not known: the nearest, else what there is."""
    names = sorted(set(known))
    near = nearest(name, names)
    some = ", ".join(names[:MAX_NAMED]) + (", …" if len(names) > MAX_NAMED else "")
    return ConfigError([Problem(None, what, allowed=None if near else some, nearest=near)])


def in_runs(run_ids: Sequence[str]) -> str:
    """Return the condition of SQL that a row is of one of some runs, each a parameter."""
    return f"run_id in ({', '.join('?' * len(run_ids))})"
