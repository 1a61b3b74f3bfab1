"""Results of a run to rows of their steps, from the traces that they name.

Only trials in which a tool was called, and those of agents, have steps: of any other the trace is
not opened. A trace that is gone, torn or no trace gives no steps, and hides no result.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import pyarrow as pa

from schemas.errors import NotOwnFile
from schemas.io.own_files import open_own_file
from schemas.lake.log_coverage import STEP_TABLES
from schemas.lake.rows.tables import TABLES, Columns, arrays_of, table_from
from schemas.lake.rows.trace_steps import MAX_PART, steps_of
from schemas.run.result import TRIAL_KEY
from schemas.run.trace import REFERENCE, trace_content

ASKS_ONCE = "llm_probe"
"""The runner whose trials are one answer unless a tool was called."""

MAX_CHUNK_BYTES = 4 * 2**20
"""Of text that is Python objects at one moment."""

MAX_OPEN = 16
"""Files of traces that are open at one moment; a process may have few."""

OF_RESULT = (*TRIAL_KEY, "record_no", "attempt")

HAS_STEPS = re.compile(
    rb'"tool_ms":\s*[0-9]|"tool_call_source":\s*"api"|"runner_type":\s*"(?!llm_probe")'
)
"""In a line of results.jsonl whose trial may have steps."""


class StepRows:
    """Makes the steps of a run's trials.

    Args:
        run_dir: the run's folder.
        with_text: their texts are made as well.
    """

    def __init__(self, run_dir: Path, *, with_text: bool = True) -> None:
        self._run_dir = run_dir
        self._with_text = with_text

    def read(self, results: Columns) -> dict[str, pa.Table]:
        """Return the rows of both tables, as far as there are any.

        Args:
            results: columns of results in the order of the log, with `attempt`.
        """
        made: dict[str, list[pa.Table]] = {table: [] for table in STEP_TABLES}
        rows: list[dict[str, Any]] = []
        texts: list[dict[str, Any]] = []
        n_bytes = 0
        with contextlib.closing(_Traces(self._run_dir)) as traces:
            for place in _with_steps(results):
                key = {name: results[name][place] for name in OF_RESULT}
                models = results["requested_model"][place], results["served_model"][place]
                reference = results["artifact_path"][place]
                text_key = {name: key[name] for name in (*TRIAL_KEY, "record_no")}
                for part in steps_of(traces.events(reference), reference, models):
                    rows += [row | key for row in part.rows]
                    for step_no, text, is_cut in part.texts if self._with_text else ():
                        n_bytes += len(text)
                        texts.append(
                            text_key | {"step_no": step_no, "text": text, "text_truncated": is_cut}
                        )
                    if n_bytes > MAX_CHUNK_BYTES or len(rows) >= MAX_PART:
                        _put(made, rows, texts)
                        rows, texts, n_bytes = [], [], 0
        _put(made, rows, texts)
        return {table: pa.concat_tables(parts) for table, parts in made.items() if parts}


def may_have_steps(log: Path) -> bool:
    """Return whether a trial in a log of results may have steps; False where it cannot be read."""
    with contextlib.suppress(OSError, NotOwnFile), open_own_file(log.parent, log.name) as file:
        return any(HAS_STEPS.search(line) for line in file)
    return False


def _with_steps(results: Columns) -> Iterator[int]:
    """Yield the places of results whose traces hold steps."""
    facts = zip(
        results["artifact_path"],
        results["tool_ms"],
        results["tool_call_source"],
        results["runner_type"],
        strict=True,
    )
    for place, (reference, tool_ms, source, runner) in enumerate(facts):
        if reference is not None and (
            tool_ms is not None or source == "api" or runner != ASKS_ONCE
        ):
            yield place


def _put(
    made: Mapping[str, list[pa.Table]], rows: list[dict[str, Any]], texts: list[dict[str, Any]]
) -> None:
    for table, found in (("steps", rows), ("step_texts", texts)):
        if found:
            schema = TABLES[table]
            columns = {name: [row[name] for row in found] for name in schema.names}
            made[table].append(table_from(arrays_of(columns, schema), schema))


class _Traces:
    """The traces of a run, a file for each model, of which those read last are kept open.

    Args:
        run_dir: the run's folder.
    """

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._opened: dict[str, BinaryIO | None] = {}
        """The one that was read last is the last; None: it cannot be read."""

    def events(self, reference: str) -> list[Any]:
        """Return the events of a trace as they were written; none of one that cannot be read."""
        match = REFERENCE.fullmatch(reference)
        file = self._file(match[1]) if match is not None else None
        if match is None or file is None:
            return []
        try:
            content = trace_content(file, int(match[2]))
            if content is None:
                return []
            events = orjson.loads(content)["trace"]
        except (OSError, ValueError, KeyError, TypeError):
            return []
        return events if isinstance(events, list) else []

    def close(self) -> None:
        """Close what is open."""
        while self._opened:
            self._drop(next(iter(self._opened)))

    def _file(self, name: str) -> BinaryIO | None:
        file = self._opened.pop(name) if name in self._opened else self._open(name)
        self._opened[name] = file
        if len(self._opened) > MAX_OPEN:
            self._drop(next(iter(self._opened)))
        return file

    def _open(self, name: str) -> BinaryIO | None:
        with contextlib.suppress(OSError, NotOwnFile):
            if (self._run_dir / name).is_file():
                return open_own_file(self._run_dir, name)
        return None

    def _drop(self, name: str) -> None:
        if (file := self._opened.pop(name)) is not None:
            file.close()
