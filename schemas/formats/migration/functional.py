"""Results of functional validation in older files, and the totals that those keep of their results.

The older run file keeps functional validation apart from its results. Each component was told by
true or false. The points follow from that (D-D4); the total stays the score that the file says,
where it says one. Stored totals are held against the results, which win, since the totals of v2 are
always counted; what was stored is kept beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from schemas.base import Finding, error
from schemas.formats.migration.ledger import SCORE, is_number, is_score, mismatch
from schemas.formats.report_v1 import ID_KEYS
from schemas.formats.report_v2_instance import COMPONENTS, Component, ValidationBreakdown, points_of
from schemas.io.json_text import excerpt

FLAGS: tuple[tuple[str, Component], ...] = (
    ("deployment_passed", "deployment"),
    ("unit_tests_passed", "unit_test"),
    ("functional_tests_passed", "functional"),
    ("bulk_operations_passed", "bulk"),
    ("bulk_tests_passed", "bulk"),
    ("no_manual_tweaks", "no_tweaks"),
)
"""Older names of components; of two for one component the first that has a value counts."""

DETAILS = ("validation_level", "steps")

MARGIN = 0.0051
"""Stored rates and means have two decimals."""

TOTAL_KEYS = ("total_tasks", "total", "total_instances")

WORDS: Mapping[str, frozenset[str]] = {
    "passed": frozenset({"resolved", "pass", "passed", "success"}),
    "failed": frozenset({"fail", "failed"}),
    "timeout": frozenset({"timeout"}),
    "error": frozenset({"error"}),
}
"""Name of a stored count to the words for a status that it counts."""


class Functional(NamedTuple):
    """Results of functional validation by instance id."""

    entries: dict[str, dict[str, Any]]
    """Without their ids."""
    originals: dict[str, dict[str, Any]]
    findings: list[Finding]


def functional_of(value: object) -> Functional:
    """Read `functional_validation`; null and an absent one are no results."""
    found = Functional({}, {}, [])
    if not isinstance(value, list):
        if value is not None and not isinstance(value, bool):
            message = mismatch(value, "a list or null")
            found.findings.append(error("wrong_type", "/functional_validation", message))
        return found
    for place, entry in enumerate(value):
        where = f"/functional_validation/{place}"
        if not isinstance(entry, dict):
            found.findings.append(error("wrong_type", where, mismatch(entry, "an object")))
            continue
        found.findings.extend(_mistakes(entry, where))
        key = next((key for key in ID_KEYS if isinstance(entry.get(key), str)), None)
        if key is None:
            found.findings.append(error("missing_field", where, "`task_id` is missing"))
        elif entry[key] in found.entries:
            message = f"the id {excerpt(entry[key])} stands here a second time"
            found.findings.append(error("duplicate_instance_id", where, message))
        else:
            found.originals[entry[key]] = entry
            found.entries[entry[key]] = {name: entry[name] for name in entry if name != key}
    return found


def _mistakes(entry: Mapping[str, Any], where: str) -> list[Finding]:
    no_flags = [key for key, _ in FLAGS if not isinstance(entry.get(key), bool | None)]
    wrong = dict.fromkeys(no_flags, "true, false or null")
    if not is_score(entry.get("score")):
        wrong["score"] = SCORE.allowed
    return [
        error(
            "bad_value" if key == "score" and is_number(entry[key]) else "wrong_type",
            f"{where}/{key}",
            mismatch(entry[key], allowed),
        )
        for key, allowed in wrong.items()
    ]


@cache
def _points_of(statuses: tuple[tuple[str, str], ...]) -> dict[str, int]:
    """Return the points that components earn, and their sum; there are 3 to the fifth at most."""
    validation = ValidationBreakdown.model_validate(dict(statuses))
    points = {f"{name}_points": points_of(validation, name) for name in COMPONENTS}
    return points | {"total_score": sum(points.values())}


def breakdown_of(entry: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the components of one result without mistakes, and its fields with their targets."""
    found: dict[str, Any] = {}
    used: dict[str, str] = {}
    for key, component in FLAGS:
        target = f"{component}_status"
        if entry.get(key) is not None and target not in found:
            found[target] = "pass" if entry[key] else "fail"
            used[key] = target
    details = {key: entry[key] for key in DETAILS if key in entry}
    if found:
        found |= _points_of(tuple(found.items()))
    if details:
        found["functional_details"] = details
        used |= {key: f"functional_details/{key}" for key in details}
    if entry.get("score") is not None:
        found["total_score"] = entry["score"]
        used["score"] = "total_score"
    return found, used


def counted_totals(words: Counter[str], n_instances: int) -> dict[str, float]:
    """Return what the stored totals should be by the results."""
    found: dict[str, float] = {
        name: sum(words[word] for word in those) for name, those in WORDS.items()
    }
    found |= dict.fromkeys(TOTAL_KEYS, n_instances)
    if n_instances:
        found["pass_rate"] = 100 * found["passed"] / n_instances
    return found


def contradictions(stored: Mapping[str, Any], true: Mapping[str, float]) -> dict[str, str]:
    """Return a sentence for each stored total that the results contradict, by its name."""
    return {
        name: f"says {excerpt(stored[name])}, the results say {right:.15g}; the results win"
        for name, right in true.items()
        if is_number(stored.get(name))
        and not (is_score(stored[name]) and abs(stored[name] - right) <= MARGIN)
    }


def stored_total(stored: object) -> int | float:
    """Return the greatest number of results that an object claims; 0 where it claims none."""
    if not isinstance(stored, dict):
        return 0
    claims: list[int | float] = [stored[key] for key in TOTAL_KEYS if is_number(stored.get(key))]
    return max([0, *claims])
