"""What is wrong with a report of the SWE-bench harness: its fields, and whether they agree.

The rules are those that its own `make_run_report` keeps, in both styles. Every problem is found,
not only the first: a rule is left out only where one of the fields it reads is not as it should be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import combinations
from typing import Any

from schemas.errors import counted
from schemas.finding import Finding, error, pointer, warning
from schemas.formats.swebench import FAILURE_TIERS, SwebenchReport
from schemas.json_values import key_part, shown
from schemas.misfits import misfits

STYLE_5_ONLY = (
    "infra_failure_instances",
    "ambiguous_failure_instances",
    "infra_failure_ids",
    "ambiguous_failure_ids",
    "failure_reasons",
)
"""Fields that the harness writes since 5.0: all of them or none."""

COUNTED = {
    "submitted_instances": "submitted_ids",
    "completed_instances": "completed_ids",
    "resolved_instances": "resolved_ids",
    "unresolved_instances": "unresolved_ids",
    "infra_failure_instances": "infra_failure_ids",
    "ambiguous_failure_instances": "ambiguous_failure_ids",
    "empty_patch_instances": "empty_patch_ids",
    "error_instances": "error_ids",
    "unstopped_instances": "unstopped_containers",
}
"""Each count, and the list whose length it is."""

ID_LISTS = (*(name for name in COUNTED.values() if name.endswith("_ids")), "incomplete_ids")

WITHIN = (
    ("resolved_ids", ("completed_ids",)),
    ("unresolved_ids", ("completed_ids",)),
    ("completed_ids", ("resolved_ids", "unresolved_ids", "error_ids")),
    ("completed_ids", ("submitted_ids",)),
    ("empty_patch_ids", ("submitted_ids",)),
    ("error_ids", ("submitted_ids",)),
    ("infra_failure_ids", ("unresolved_ids", "error_ids")),
    ("ambiguous_failure_ids", ("unresolved_ids", "error_ids")),
)
"""Each list, and the lists of which one holds each of its ids."""

APART = (
    *combinations(
        ("resolved_ids", "unresolved_ids", "error_ids", "empty_patch_ids", "incomplete_ids"), 2
    ),
    ("submitted_ids", "incomplete_ids"),
    ("infra_failure_ids", "ambiguous_failure_ids"),
)
"""Pairs of lists without an id in common."""

OF_THE_DATA_SET = ("completed_ids", "incomplete_ids", "empty_patch_ids", "error_ids")
"""Lists that name each instance of the data set together."""


def swebench_problems(value: object) -> tuple[Finding, ...]:
    """Return every problem of a harness report, style 4 or 5; empty when there is none.

    Args:
        value: parsed JSON, of any kind.
    """
    found = list(misfits(SwebenchReport, value))
    if isinstance(value, dict):
        found.extend(_style(value))
        wrong = {one.pointer.split("/")[1] for one in found if one.pointer}
        sound = {
            name: value[name]
            for name in SwebenchReport.model_fields
            if name not in wrong and value.get(name) is not None
        }
        for rule in (_lists, _counts, _total, _membership, _reasons):
            found.extend(rule(sound))
    return tuple(found)


def _style(value: dict[str, Any]) -> Iterator[Finding]:
    present = [name for name in STYLE_5_ONLY if value.get(name) is not None]
    for name in STYLE_5_ONLY:
        if present and name not in present:
            message = f"this field is absent, and `{present[0]}` is there: both or neither"
            yield error("missing_field", pointer(name), message)


def _lists(sound: dict[str, Any]) -> Iterator[Finding]:
    for name in ID_LISTS:
        ids = sound.get(name, ())
        if len(set(ids)) < len(ids):
            twice = [one for one, times in Counter(ids).items() if times > 1]
            message = f"{_told(twice)} stands in this list more than once"
            yield error("duplicate_instance_id", pointer(name), message)
        elif list(ids) != sorted(ids):
            yield warning("not_sorted", pointer(name), "the harness writes its lists sorted")


def _counts(sound: dict[str, Any]) -> Iterator[Finding]:
    for count, name in COUNTED.items():
        if count in sound and name in sound and sound[count] != len(sound[name]):
            entries = counted(len(sound[name]), "entry", "entries")
            message = f"{sound[count]} is not the {entries} of `{name}`"
            yield error("count_contradicts", pointer(count), message)


def _total(sound: dict[str, Any]) -> Iterator[Finding]:
    if "total_instances" not in sound or not all(name in sound for name in OF_THE_DATA_SET):
        return
    total = sound["total_instances"]
    known = len({one for name in OF_THE_DATA_SET for one in sound[name]})
    message = f"{total} is not the {counted(known, 'instance')} that the lists name together"
    if total < known:
        yield error("count_contradicts", pointer("total_instances"), message)
    elif total > known:
        yield warning("partial_instances", pointer("total_instances"), message)


def _membership(sound: dict[str, Any]) -> Iterator[Finding]:
    for name, holders in WITHIN:
        if name in sound and all(holder in sound for holder in holders):
            lost = set(sound[name]).difference(*(sound[holder] for holder in holders))
            if lost:
                message = f"{_told(lost)} is not in {' or '.join(f'`{one}`' for one in holders)}"
                yield error("ids_contradict", pointer(name), message)
    for one, other in APART:
        if both := set(sound.get(one, ())) & set(sound.get(other, ())):
            yield error("ids_contradict", pointer(one), f"{_told(both)} is in `{other}` as well")


def _reasons(sound: dict[str, Any]) -> Iterator[Finding]:
    if not all(name in sound for name in STYLE_5_ONLY):
        return
    reasons: dict[str, str] = sound["failure_reasons"]
    lists = {tier: set(sound[f"{tier}_ids"]) for tier in ("infra_failure", "ambiguous_failure")}
    classified = set().union(*lists.values())
    if lost := classified - reasons.keys():
        message = f"{_told(lost)} is classified as a failure, without a reason"
        yield error("ids_contradict", pointer("failure_reasons"), message)
    for instance_id, reason in reasons.items():
        at = pointer("failure_reasons", key_part(instance_id))
        tier = FAILURE_TIERS.get(reason)
        if instance_id not in classified:
            yield error("ids_contradict", at, "there is a reason, and no list has this instance")
        elif tier is None:
            yield warning(
                "unknown_reason", at, f"{shown(reason)} is no reason that swebench 5.0 gives"
            )
        elif instance_id not in lists[tier]:
            yield error("ids_contradict", at, f"{shown(reason)} belongs to `{tier}_ids`")


def _told(ids: Collection[str]) -> str:
    """Return the first of some ids, and how many there are besides."""
    more = len(ids) - 1
    return shown(min(ids)) + (f" (and {more} more)" if more else "")
