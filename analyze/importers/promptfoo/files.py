"""What promptfoo leaves of an evaluation: JSON, lines of JSON, or its SQLite database.

A row is one test with one provider and prompt. Of JSON only one row at a time is taken apart, the
others stay bytes: an export of 300 MB takes little more than that. A database holds many
evaluations, each of which is written out as two files, since the database itself changes with every
new one; these are the originals of a run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from analyze.importers.base import NotImportable
from analyze.importers.lenient import free, number, value_of
from schemas.base import Finding, error, warning
from schemas.errors import ConfigError, Problem
from schemas.io.json_text import BOM
from schemas.redact import redact_json

MAX_JSON_BYTES = 1 << 32

MAX_REJECTED = 100
"""Rows that are told one by one."""

SECRET_KEY = re.compile(r"key|token|secret|passw|authorization|credential|cookie", re.IGNORECASE)

HIDDEN = "[REDACTED]"
"""As promptfoo itself writes it into its exports, though not into its database."""

NO_ROWS = "an export (`-o out.json` or `-o out.jsonl`), or the database promptfoo.db"

Row = dict[str, Any]


class Numbered(NamedTuple):
    """A row and its number in the file, from 1."""

    number: int
    row: Row


@dataclass
class Eval:
    """One evaluation.

    Attributes:
        name: of the file, or the evaluation's own in a database.
        eval_id: as promptfoo calls it; empty where the file does not say.
        header: all but the rows: config, stats, metadata, and the like.
        prompts: a column each, with its metrics; empty in lines of JSON.
        files: the originals by their path below `source/`.
        raw_rows: yields the bytes of each row, as often as it is asked.
    """

    name: str
    eval_id: str
    header: dict[str, Any]
    prompts: list[dict[str, Any]]
    files: dict[str, Path]
    raw_rows: Callable[[], Iterator[bytes]]
    findings: list[Finding] = field(default_factory=list)

    def rows(self) -> Iterator[Numbered]:
        """Yield the rows that are rows; what is wrong with the others is told once."""
        rejections: list[Finding] = []
        for n, raw in enumerate(self.raw_rows(), 1):
            try:
                row = value_of(raw)
            except ValueError as exc:
                rejections.append(_rejected(n, f"is no JSON ({str(exc)[:80]})"))
                continue
            if why := _misfit(row):
                rejections.append(_rejected(n, why))
            else:
                yield Numbered(n, row)
        self.findings = rejections[:MAX_REJECTED]


def _rejected(number: int, why: str) -> Finding:
    return warning("row_left_out", f"/results/{number - 1}", f"row {number:,} {why}; left out")


def _misfit(row: object) -> str | None:
    if not isinstance(row, dict):
        return "is no object"
    if number(row.get("success")) not in {0, 1}:
        return "has no `success` that is true or false"
    if not isinstance(row.get("provider"), dict | str):
        return "names no provider"
    return None


def read_lines(path: Path) -> Eval:
    """Return the evaluation in lines of JSON, which has rows alone.

    Raises:
        NotImportable: no line begins as a row.
        OSError: it cannot be read.
    """

    def raw_rows() -> Iterator[bytes]:
        with path.open("rb") as file:
            for line in file:
                if stripped := line.removeprefix(BOM).strip():
                    yield stripped

    _require_row(path, next(raw_rows(), b""))
    return Eval(path.name, "", {}, [], {"results.jsonl": path}, raw_rows)


def read_export(path: Path) -> Eval:
    """Return the evaluation in an export, of this version or an older shape.

    Raises:
        NotImportable: it is no JSON, or has no rows.
        ConfigError: it is larger than what can be read.
        OSError: it cannot be read.
    """
    if path.stat().st_size > MAX_JSON_BYTES:
        allowed = f"at most {MAX_JSON_BYTES >> 30} GB, or lines of JSON (`-o out.jsonl`)"
        raise ConfigError([Problem(path, "is too large", allowed=allowed)])
    raw = path.read_bytes().removeprefix(BOM)
    try:
        rows, header, prompts = _parts(raw)
    except (msgspec.DecodeError, ValueError, RecursionError) as exc:
        why = "is nested too deeply" if isinstance(exc, RecursionError) else f"{exc!s:.200}"
        message = f"is no JSON of promptfoo: {why}; allowed: {NO_ROWS}"
        raise NotImportable([(path, error("not_recognised", "", message))]) from None
    if rows:
        _require_row(path, bytes(rows[0]))

    def raw_rows() -> Iterator[bytes]:
        return (bytes(one) for one in rows)

    eval_id = header.get("evalId")
    named = eval_id if isinstance(eval_id, str) else ""
    return Eval(path.name, named, header, prompts, {"results.json": path}, raw_rows)


Objects = dict[str, msgspec.Raw]


def _parts(raw: bytes) -> tuple[list[msgspec.Raw], dict[str, Any], list[dict[str, Any]]]:
    """Return the rows of a document, all else of it, and its columns.

    Raises:
        DecodeError: it is no JSON, or of another shape.
        RecursionError: it is nested too deeply.
        ValueError: as above.
    """
    if raw[:64].lstrip()[:1] == b"[":
        return msgspec.json.decode(raw, type=list[msgspec.Raw]), {}, []
    document = msgspec.json.decode(raw, type=Objects)
    summary = document
    if _begins(document.get("results"), b"{"):
        summary = msgspec.json.decode(document["results"], type=Objects)
    if "results" not in summary:
        message = "there is no `results`"
        raise ValueError(message)
    rows = msgspec.json.decode(summary["results"], type=list[msgspec.Raw])
    header = {
        name: value_of(bytes(value))
        for part in (document, summary)
        for name, value in part.items()
        if name not in {"results", "prompts", "table", "traces"}
    }
    prompts = value_of(bytes(summary["prompts"])) if "prompts" in summary else None
    if prompts is None and _begins(summary.get("table"), b"{"):
        table = msgspec.json.decode(summary["table"], type=Objects)
        head = value_of(bytes(table["head"])) if "head" in table else {}
        prompts = head.get("prompts") if isinstance(head, dict) else None
    return rows, header, columns_of(prompts)


def _begins(raw: msgspec.Raw | None, mark: bytes) -> bool:
    """Return whether a value begins so; it may be as large as the file, and is not copied."""
    return raw is not None and memoryview(raw)[:1] == mark


def columns_of(prompts: object) -> list[dict[str, Any]]:
    """Return the columns of an evaluation as its prompts list them."""
    listed = prompts if isinstance(prompts, list) else []
    return [one if isinstance(one, dict) else {} for one in listed]


def _require_row(path: Path, raw: bytes) -> None:
    """Let pass a file whose first row is an object that a row can be.

    Raises:
        NotImportable: it is of another tool.
    """
    try:
        row = value_of(raw)
    except ValueError:
        row = None
    if isinstance(row, dict) and {"success", "provider"} <= row.keys():
        return
    message = f"its first row is none of promptfoo's; allowed: {NO_ROWS}"
    raise NotImportable([(path, error("not_recognised", "/results/0", message))])


def without_secrets(value: object) -> Any:
    """Return a configuration without the values of its keys, tokens and passwords."""
    return redact_json(_hidden(free(value)))


def _hidden(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: HIDDEN
            if isinstance(inner, str) and inner and SECRET_KEY.search(name)
            else _hidden(inner)
            for name, inner in value.items()
        }
    return [_hidden(one) for one in value] if isinstance(value, list) else value
