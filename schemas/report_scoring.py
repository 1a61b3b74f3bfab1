"""Points, score and verdict of one instance: the table of schema v2 as pure functions (D-D3, D-D4).

Points are all or nothing. Nothing here changes a report that somebody else made: an imported one
keeps its own points and verdict, and `schemas.formats.report_v2_problems` says where they differ from these.
"""

from __future__ import annotations

from typing import get_args

from schemas.formats.report_v2_instance import Component, ComponentStatus, ValidationBreakdown

COMPONENTS: tuple[Component, ...] = get_args(Component)

MAX_POINTS: dict[Component, int] = {
    "deployment": 10,
    "unit_test": 20,
    "functional": 50,
    "bulk": 10,
    "no_tweaks": 10,
}
"""What a component is worth; 100 together."""

CRITICAL: tuple[Component, ...] = ("deployment", "unit_test", "functional")
"""Components without which nothing is resolved, whatever the score."""

RESOLVED_FROM = 80
"""Total score from which on an instance can be resolved."""

LEAST_COVERAGE = 80
"""Percent of lines that unit tests have to reach, where the coverage is known."""

BULK_RECORDS = 200
"""Records that a bulk test has to handle unless another number is expected."""


def status_of(validation: ValidationBreakdown, component: Component) -> ComponentStatus:
    """Return the status of one component."""
    status: ComponentStatus = getattr(validation, f"{component}_status")
    return status


def is_scored(validation: ValidationBreakdown) -> bool:
    """Return whether any component was validated at all."""
    return any(status_of(validation, component) != "skipped" for component in COMPONENTS)


def points_of(validation: ValidationBreakdown, component: Component) -> int:
    """Return the points that a component earns: all of them or none (D-D4).

    Unit tests need every test to pass, and 80 % coverage where it is known; bulk needs the expected
    records, 200 unless said otherwise, where the number processed is known.
    """
    met = status_of(validation, component) == "pass"
    if component == "unit_test":
        met = met and _all_tests_passed(validation)
    if component == "bulk":
        processed = validation.bulk_records_processed
        expected = validation.bulk_records_expected
        least = BULK_RECORDS if expected is None else expected
        met = met and (processed is None or processed >= least)
    return MAX_POINTS[component] if met else 0


def _all_tests_passed(validation: ValidationBreakdown) -> bool:
    passed, total = validation.unit_test_passed, validation.unit_test_total
    if validation.unit_test_failed:
        return False
    if passed is not None and total is not None and passed < total:
        return False
    coverage = coverage_of(validation)
    return coverage is None or coverage >= LEAST_COVERAGE


def coverage_of(validation: ValidationBreakdown) -> float | None:
    """Return the percentage of lines that unit tests reached; None when nobody says."""
    if validation.unit_test_coverage is not None:
        return validation.unit_test_coverage
    told = (validation.functional_details or {}).get("coverage")
    return told if type(told) in {int, float} else None


def score_of(validation: ValidationBreakdown) -> int:
    """Return the points of all components together, 0 to 100."""
    return sum(points_of(validation, component) for component in COMPONENTS)


def scored(validation: ValidationBreakdown) -> ValidationBreakdown:
    """Return a validation with the points and the total that its statuses earn."""
    points = {f"{component}_points": points_of(validation, component) for component in COMPONENTS}
    return validation.model_copy(update=points | {"total_score": score_of(validation)})


def is_resolved(validation: ValidationBreakdown) -> bool:
    """Return the verdict on scored components (D-D3): 80 points, and every critical one passed."""
    total = score_of(validation) if validation.total_score is None else validation.total_score
    return total >= RESOLVED_FROM and all(
        status_of(validation, component) == "pass" for component in CRITICAL
    )
