"""Loads prompt lists in the older JSON form: an array, or one object a line."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from collect.config.loaded import LoadedCase, WireMessage
from collect.config.problems import problems_of
from collect.config.source import Source, decode, read_bytes
from schemas.base import slugify
from schemas.case import Prompt
from schemas.errors import ConfigError, Problem

LIST_LIMIT = 200_000_000
MANY = TypeAdapter(tuple[Prompt, ...])


def load_prompt_list(path: Path, *, prefixed: bool) -> tuple[list[LoadedCase], str]:
    """Return a list's prompts as cases, in the list's order, and the file's sha256.

    Args:
        path: a .json array or a .jsonl file.
        prefixed: put `<list stem>--` before each case_id, when the suite has several lists.

    Raises:
        ConfigError: every entry that is wrong, with its number (JSON) or line (JSONL).
    """
    raw = read_bytes(path, LIST_LIMIT)
    decode(path, raw)
    prompts = _parse(path, raw)
    prefix = f"{slugify(path.stem)}--" if prefixed else ""
    cases: dict[str, LoadedCase] = {}
    problems = []
    for number, prompt in enumerate(prompts):
        case_id = prefix + slugify(prompt.id)
        if case_id in cases:
            other = cases[case_id].prompt_id
            what = f"id becomes case_id `{case_id}`, as `{other}` does"
            problems.append(Problem(path, what, key=f"[{number}].id", found=prompt.id))
        cases[case_id] = LoadedCase(
            case_id=case_id,
            prompt_id=prompt.id,
            prompt_name=prompt.name,
            messages=(WireMessage(role="user", content=prompt.prompt),),
            validator=prompt.validator,
            expected_tool_calls=prompt.expected_tool_calls,
            tags=(prompt.variant,) if prompt.variant else (),
        )
    if problems:
        raise ConfigError(problems)
    return list(cases.values()), hashlib.sha256(raw).hexdigest()


def _parse(path: Path, raw: bytes) -> Sequence[Prompt]:
    try:
        if path.suffix != ".jsonl":
            return MANY.validate_json(raw, strict=True)
        lines = [line for line in raw.splitlines() if line.strip()]
        return MANY.validate_json(b"[" + b",".join(lines) + b"]", strict=True)
    except ValidationError as exc:
        raise ConfigError(_explain(exc, path, raw)) from exc


def _explain(exc: ValidationError, path: Path, raw: bytes) -> list[Problem]:
    first = exc.errors()[0]
    if first["type"] == "json_invalid":
        return [Problem(path, f"is not valid JSON: {first['ctx']['error']}")]
    if path.suffix == ".jsonl":
        data = [orjson.loads(line) for line in raw.splitlines() if line.strip()]
    else:
        data = orjson.loads(raw)
    return problems_of(exc, Prompt, Source(path, data, ""))
