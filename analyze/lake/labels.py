"""Labels of a run: names that people give it, in its config and in the lake."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from analyze.lake.repair import retry_while_moving, settle
from schemas.errors import ConfigError, Problem, RunNotFound, nearest, printable
from schemas.io.files import write_whole
from schemas.lake import Lake, lake_of
from schemas.run.import_record import is_imported


def label(runs_dir: Path, run_id: str, labels: Sequence[str]) -> None:
    """Set the labels of a run: in its config.json, if it is one of ours, and in the lake.

    Raises:
        ConfigError: a label is empty or has control characters.
        RunNotFound: neither a folder nor the lake has the run.
        OSError: config.json or the lake cannot be written.
    """
    wrong = [name for name in labels if not name.strip() or not name.isprintable()]
    if wrong:
        what = "a label has at least one character, and none that a terminal obeys"
        raise ConfigError([Problem(None, what, found=repr(name)) for name in wrong])
    path = runs_dir / run_id / "config.json"
    is_ours = path.is_file() and not is_imported(path.parent)
    if is_ours:
        config = json.loads(path.read_bytes())
        config["labels"] = list(labels)
        write_whole(path, json.dumps(config, indent=2, ensure_ascii=False).encode() + b"\n")
    lake = lake_of(runs_dir)

    def write(_: list[Path]) -> bool:
        return Lake(lake).label(run_id, tuple(labels))

    is_held = retry_while_moving(lake, write, partial(settle, lake, writes=True))
    if not (is_ours or is_held):
        raise RunNotFound(run_id, runs_dir, [folder.name for folder in runs_dir.iterdir()])


def changed_labels(
    run_id: str, labels: Sequence[str], names: Sequence[str], *, remove: bool
) -> tuple[str, ...]:
    """Return a run's labels after a change, in the order in which they were given.

    Raises:
        ConfigError: one to take is not there; names the nearest.
    """
    if remove:
        if missing := [name for name in names if name not in labels]:
            raise ConfigError([_not_there(run_id, name, labels) for name in missing])
        return tuple(label for label in labels if label not in names)
    return tuple(dict.fromkeys([*labels, *names]))


def _not_there(run_id: str, name: str, labels: Sequence[str]) -> Problem:
    has = printable(", ".join(f"`{label}`" for label in labels)) or "none"
    return Problem(
        None,
        f"run `{run_id}` has no label {name!r}",
        found=f"its labels: {has}",
        nearest=nearest(name, labels),
    )
