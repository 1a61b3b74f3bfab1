"""What a case of a run expects: the validator that its folder keeps beside the plan.

cases.jsonl.zst is written for `--resume`; here it only explains a verdict. A run made elsewhere or
by an earlier benchlake has none, and then nothing is said of what was expected.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection
from pathlib import Path

import orjson
from pydantic import JsonValue

CASES_FILE = "cases.jsonl.zst"


NAMED = re.compile(rb'"case_id"\s*:\s*("(?:[^"\\]|\\.)*")')


def validator_of(run_dir: Path | None, case_id: str) -> dict[str, JsonValue] | None:
    """Return the validator of a case as it was written; None where nobody kept it."""
    return validators_of(run_dir, {case_id}).get(case_id)


def validators_of(
    run_dir: Path | None, case_ids: Collection[str]
) -> dict[str, dict[str, JsonValue] | None]:
    """Return the validators of cases as they were written, by case_id; what nobody kept is absent.

    The file is read line by line and only as far as the last of the cases.
    """
    import zstandard  # noqa: PLC0415 - only who shows a trial needs it

    found: dict[str, dict[str, JsonValue] | None] = {}
    if run_dir is None or not case_ids:
        return found
    marks = {orjson.dumps(case_id) for case_id in case_ids}
    try:
        with (
            (run_dir / CASES_FILE).open("rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file) as content,
        ):
            for line in io.BufferedReader(content):
                if marks.isdisjoint(NAMED.findall(line)):
                    continue
                case = orjson.loads(line)
                case_id = case.get("case_id")
                if case_id in case_ids and case_id not in found:
                    validator = case.get("validator")
                    found[case_id] = validator if isinstance(validator, dict) else None
                    if len(found) == len(marks):
                        return found
    except (OSError, ValueError, AttributeError, TypeError, zstandard.ZstdError):
        return found
    return found
