"""What a case of a run expects: the validator that its folder keeps beside the plan.

cases.jsonl.zst is written for `--resume`; here it only explains a verdict. A run made elsewhere or
by an earlier benchlake has none, and then nothing is said of what was expected.
"""

from __future__ import annotations

import io
from pathlib import Path

import orjson
from pydantic import JsonValue

CASES_FILE = "cases.jsonl.zst"


def validator_of(run_dir: Path | None, case_id: str) -> dict[str, JsonValue] | None:
    """Return the validator of a case as it was written; None where nobody kept it.

    The file is read line by line and only as far as the case.
    """
    import zstandard  # noqa: PLC0415 - only who shows a trial needs it

    if run_dir is None:
        return None
    mark = orjson.dumps(case_id)
    try:
        with (
            (run_dir / CASES_FILE).open("rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file) as content,
        ):
            for line in io.BufferedReader(content):
                if mark in line and (case := orjson.loads(line)).get("case_id") == case_id:
                    validator = case.get("validator")
                    return validator if isinstance(validator, dict) else None
    except (OSError, ValueError, AttributeError, zstandard.ZstdError):
        return None
    return None
