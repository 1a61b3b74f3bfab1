"""What a judge of another tool said of a trial, in lines: final score, dimensions, its checks.

An import keeps it in `parsed_output`; no threshold was applied to it, and it decides no verdict.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from analyze.render.numbers import whole
from analyze.render.text import line_of

MOST_EVALUATIONS = 20

OUTCOMES = {"passed": "passed", "failed": "failed", "error": "could not run"}


def score_lines(parsed_output: str | None) -> Iterator[str]:
    """Yield the evaluations of an imported trial; nothing where it has none.

    Args:
        parsed_output: of the trial, as JSON.
    """
    found = _evaluations(parsed_output)
    for one in found[:MOST_EVALUATIONS]:
        yield from _lines(one)
    if (more := len(found) - MOST_EVALUATIONS) > 0:
        yield f"and {whole(more)} more evaluation{'' if more == 1 else 's'}"


def _evaluations(parsed_output: str | None) -> list[Mapping[str, Any]]:
    try:
        parsed = json.loads(parsed_output or "null")
    except (ValueError, RecursionError):
        return []
    rows = parsed.get("evaluations") if isinstance(parsed, dict) else None
    inside = rows if isinstance(rows, list) else []
    return [one for one in inside if isinstance(one, dict) and "final_score" in one]


def _lines(one: Mapping[str, Any]) -> Iterator[str]:
    score = _number(one["final_score"])
    said = "not scored" if score is None else f"final score {score}"
    yield line_of(f"evaluation {one.get('evaluation_profile_id') or 'unnamed'}: {said}")
    dimensions = one.get("final_dimensions")
    if isinstance(dimensions, dict):
        known = {name: _number(value) for name, value in sorted(dimensions.items())}
        if told := ", ".join(f"{name} {value}" for name, value in known.items() if value):
            yield f"  dimensions  {line_of(told)}"
    checks = one.get("deterministic")
    if isinstance(checks, dict):
        counts = {OUTCOMES[name]: checks.get(name) for name in OUTCOMES}
        told = ", ".join(f"{n:,} {word}" for word, n in counts.items() if isinstance(n, int))
        yield f"  checks      {told}"


def _number(value: Any) -> str | None:
    """Return a score as it was said, without digits that mean nothing."""
    is_score = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:.5g}" if is_score else None
