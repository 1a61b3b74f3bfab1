"""What is wrong with an evaluation report v2: every problem, by its place (D-D7).

Errors make a report unusable: a field missing or of a wrong type, an id twice, counts that its own
instances contradict. Warnings say what a reader fills in, or what its maker counted otherwise.
Verdicts, scores and times that do not agree with one another (D-D3, D-D4) are all warnings: a
report keeps what its maker said, and its reader is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from schemas.base import Finding, error, is_valid, pointer, warning
from schemas.errors import counted, plural
from schemas.formats.fields import MAX_PER_CODE, check_fields
from schemas.formats.report_v2 import (
    ID_FIELDS,
    SUMMARY_TWINS,
    TWINS,
    EvaluationReport,
    is_percentage,
)
from schemas.formats.report_v2_counts import ROUNDING, count_problems
from schemas.formats.report_v2_instance import (
    COMPONENTS,
    InstanceResult,
    is_resolved,
    is_scored,
    points_of,
    read_time,
)
from schemas.io.json_text import described, excerpt, key_part, value_problems

TIMES = ("start_time", "created_at", "end_time")


def verdict_problems(raw: Sequence[Any], instances: Sequence[InstanceResult]) -> Iterator[Finding]:
    """Yield what disagrees within single instances, given as they were parsed and as records."""
    for number, (written, one) in enumerate(zip(raw, instances, strict=True)):
        if "resolved" not in written:
            message = "the field `resolved` is absent; it follows from the status"
            yield warning("derivable_absent", pointer("instances", number, "resolved"), message)
        if one.resolved != (one.status == "resolved"):
            where = pointer("instances", number, "status")
            flag = "true" if one.resolved else "false"
            message = f"the status is `{one.status}`, and the field `resolved` is {flag}"
            yield warning("verdict_inconsistent", where, message)
        if one.validation.model_fields_set and is_scored(one.validation):
            yield from _scored(number, one)
        for name in ("start_time", "end_time"):
            yield from time_problems(getattr(one, name), "instances", number, name)


def _scored(number: int, one: InstanceResult) -> Iterator[Finding]:
    """Yield where the verdict, the points or the total are not those that the statuses earn."""
    validation = one.validation
    if is_resolved(validation) != one.resolved:
        by_score, said = ("resolved", "not") if not one.resolved else ("not resolved", "it is")
        message = f"by its score and components the instance is {by_score}; the report says {said}"
        yield warning("verdict_inconsistent", pointer("instances", number, "resolved"), message)
    given = validation.model_fields_set
    sum_of_points = 0.0
    for component in COMPONENTS:
        name = f"{component}_points"
        points, earned = getattr(validation, name), points_of(validation, component)
        sum_of_points += points
        if name in given and abs(points - earned) > ROUNDING:
            where = pointer("instances", number, "validation", name)
            message = f"{excerpt(points)} is stored for it, and the component earns {earned}"
            yield warning("score_differs", where, message)
    total = validation.total_score
    if "total_score" in given and total is not None and abs(total - sum_of_points) > ROUNDING:
        where = pointer("instances", number, "validation", "total_score")
        message = f"{excerpt(total)} is stored, and the points add up to {excerpt(sum_of_points)}"
        yield warning("score_differs", where, message)


def time_problems(value: object, *where: str | int) -> Iterator[Finding]:
    """Yield a warning for a text that is no ISO 8601 time."""
    if isinstance(value, str) and read_time(value) is None:
        message = f"{excerpt(value)} is no time as ISO 8601 writes it (2025-12-29T14:30:00Z)"
        yield warning("time_format", pointer(*where), message)


def validate_schema(report: object) -> bool:
    """Return whether a report is a valid evaluation report v2; warnings leave it valid."""
    return is_valid(schema_problems(report))


def schema_problems(report: object) -> tuple[Finding, ...]:
    """Return every problem of a report v2, parsed or a record; nothing is raised or changed."""
    if isinstance(report, EvaluationReport):
        try:
            report = report.model_dump(warnings=False)
        except (ValueError, RecursionError):
            message = "an unknown field holds what no JSON file can"
            return (error("too_deep", "", message),)
    found = value_problems(report)
    if any(one.code == "too_deep" for one in found):
        return tuple(found)
    if not isinstance(report, dict):
        message = f"{described(report)} stands there; a report is an object"
        return (*found, error("not_an_object", "", message))
    checked = check_fields(report)
    places = {one.pointer for one in found}
    found += [one for one in checked.findings if one.pointer not in places]
    found += _pairs(report)
    for name in TIMES:
        found += time_problems(report.get(name), name)
    raw = report.get("instances")
    if isinstance(raw, list | tuple):
        twice = _limited(_duplicates(raw))
        found += twice + _extent(report, len(raw))
        if checked.instances is not None:
            found += _limited(verdict_problems(raw, checked.instances))
            if not twice and is_complete(report, len(raw)):
                found += count_problems(report, checked.instances)
    return tuple(_in_order(found, report))


def _summary(report: Mapping[str, Any]) -> Mapping[str, Any]:
    stored = report.get("summary")
    return stored if isinstance(stored, dict) else {}


def is_complete(report: Mapping[str, Any], n: int) -> bool:
    """Return whether the instances of a report are all those that its summary speaks of."""
    total = _summary(report).get("total_instances")
    return total is None or (type(total) is int and total == n)


def _extent(report: Mapping[str, Any], n: int) -> list[Finding]:
    total, where = _summary(report).get("total_instances"), pointer("summary", "total_instances")
    if type(total) is not int or total == n or total < 0:
        return []
    if n > total:
        message = f"the report has {counted(n, 'instance')}, and the total is {excerpt(total)}"
        return [error("too_many_instances", where, message)]
    what = f"{plural(total, 'instance')} {plural(n, 'is', 'are')}"
    message = f"{n:,} of {excerpt(total)} {what} in this report; stored counts are kept"
    found = [warning("partial_instances", where, message)]
    found += [_absent(name) for name in ID_FIELDS if name not in report]
    stored = _summary(report)
    for pair in (*SUMMARY_TWINS, ("resolve_rate", "resolution_rate")):
        if (pair[0] in stored) != (pair[1] in stored):
            found.append(_absent("summary", pair[pair[0] in stored]))
    return found


def _limited(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings on instances, of each code only so many, and how many more there are."""
    kept: list[Finding] = []
    first: dict[str, Finding] = {}
    counts: Counter[str] = Counter()
    for one in findings:
        counts[one.code] += 1
        if counts[one.code] <= MAX_PER_CODE:
            kept.append(one)
            first.setdefault(one.code, one)
    for code, count in counts.items():
        if more := max(0, count - MAX_PER_CODE):
            have = counted(more, "more instance has", "more instances have")
            message = f"{have} a finding of this kind"
            rest = {"pointer": pointer("instances"), "message": message}
            kept.append(first[code].model_copy(update=rest))
    return kept


def _absent(*where: str) -> Finding:
    message = f"the field `{where[-1]}` is absent; it follows from others"
    return warning("derivable_absent", pointer(*where), message)


def _duplicates(instances: Sequence[Any]) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for number, one in enumerate(instances):
        name = one.get("instance_id") if isinstance(one, dict) else None
        if isinstance(name, str) and first.setdefault(name, number) != number:
            message = f"instance {first[name]:,} has the id {excerpt(name)} as well"
            yield error(
                "duplicate_instance_id", pointer("instances", number, "instance_id"), message
            )


def _pairs(report: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what the two names of one field say differently, and a percentage for a fraction."""
    for one, other in TWINS:
        if one in report and other in report:
            if report[one] != report[other]:
                message = f"`{other}` and `{one}` are two names of one field, and differ"
                yield warning("alias_differs", pointer(other), message)
        elif one in report or other in report:
            yield _absent(other if one in report else one)
    summary = _summary(report)
    for one, other in SUMMARY_TWINS:
        stored = summary.get(one), summary.get(other)
        if all(type(count) is int for count in stored) and stored[0] != stored[1]:
            message = f"`{other}` and `{one}` are two names of one count, and differ"
            yield error("alias_contradicts", pointer("summary", other), message)
    rate = summary.get("resolve_rate")
    if is_percentage(rate):
        message = f"{excerpt(rate)} is read as a percentage; the field is a fraction of 0 to 1"
        yield warning("percent_rate", pointer("summary", "resolve_rate"), message)


def _in_order(findings: list[Finding], report: Mapping[str, Any]) -> list[Finding]:
    """Return findings by place: keys as they are written, absent ones after them."""
    orders: dict[int, dict[str, int]] = {}

    def rank(finding: Finding) -> list[int]:
        ranks: list[int] = []
        node: Any = report
        for part in finding.pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict):
                if id(node) not in orders:
                    orders[id(node)] = {str(key_part(name)): i for i, name in enumerate(node)}
                order = orders[id(node)]
                ranks.append(order.get(key, len(order)))
                node = node.get(key)
            else:
                ranks.append(int(key) if key.isdecimal() else 0)
                is_there = isinstance(node, list | tuple) and ranks[-1] < len(node)
                node = node[ranks[-1]] if is_there else None
        return ranks

    return sorted(findings, key=rank)
