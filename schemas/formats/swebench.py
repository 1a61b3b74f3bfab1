"""The SWE-bench harness' own files, reports and predictions (D-D9), and what is wrong with them.

Style 5 of a report is that of swebench 5.0, style 4 lacks the classification of infrastructure
failures. The integer 2 is the harness' schema_version in both. The rules are those that its own
`make_run_report` keeps, in both styles. Every problem is found, not only the first: a rule is left
out only where one of the fields it reads is not as it should be.

Predictions are checked one by one and among themselves. The harness reads lines of JSON, a list, or
an object whose values carry `instance_id`. The object that sb-cli documents has the id as its key
alone; we read that too, and say so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import combinations
from typing import Any, Literal, NamedTuple

from pydantic import Field

from schemas.base import Count, Finding, error, is_valid, pointer, warning
from schemas.errors import counted
from schemas.formats.fields import misfits
from schemas.formats.report_v2 import Ids
from schemas.formats.report_v2_instance import ReportRecord
from schemas.io.json_text import described, excerpt, key_part

Style = Literal[4, 5]

FAILURE_TIERS: dict[str, Literal["infra_failure", "ambiguous_failure"]] = {
    "browser_launch_failed": "infra_failure",
    "display_unavailable": "infra_failure",
    "out_of_memory": "infra_failure",
    "container_unavailable": "infra_failure",
    "network_unreachable": "infra_failure",
    "missing_module": "ambiguous_failure",
    "no_tests_collected": "ambiguous_failure",
    "tests_timed_out": "ambiguous_failure",
}
"""Reasons that the harness finds in its logs, and whether they are likely no fault of the model."""

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


class SwebenchReport(ReportRecord):
    """The report of one evaluation run, style 5; in style 4 the `_failure` fields are absent.

    infra_failure and ambiguous_failure are subsets of unresolved and error together.
    """

    total_instances: Count = Field(description="Of the data set.")
    submitted_instances: Count = Field(description="Predictions, outside the data set too.")
    completed_instances: Count = Field(description="With a report of their own, readable or not.")
    resolved_instances: Count
    unresolved_instances: Count
    infra_failure_instances: Count | None = None
    ambiguous_failure_instances: Count | None = None
    empty_patch_instances: Count
    error_instances: Count = Field(description="Without a report, or with an unreadable one.")
    completed_ids: Ids
    incomplete_ids: Ids = Field(description="In the data set, without a prediction.")
    empty_patch_ids: Ids
    submitted_ids: Ids
    resolved_ids: Ids
    unresolved_ids: Ids
    infra_failure_ids: Ids | None = None
    ambiguous_failure_ids: Ids | None = None
    failure_reasons: dict[str, str] | None = None
    error_ids: Ids
    schema_version: Literal[2]
    unstopped_instances: Count | None = None
    unstopped_containers: Ids | None = None
    unremoved_images: Ids | None = None


class Prediction(ReportRecord):
    """What a model handed in for one instance: a line of the predictions file."""

    instance_id: str
    model_name_or_path: str
    model_patch: str | None = Field(description="Null or empty: the model handed in nothing.")


class InstanceReport(ReportRecord):
    """What the harness wrote of one instance below its logs: `{instance_id: this}`."""

    resolved: bool
    patch_is_None: bool | None = None
    patch_exists: bool | None = None
    patch_successfully_applied: bool | None = None
    infra_failure: bool | None = None
    infra_failure_reason: str | None = None
    tests_status: dict[str, Any] | None = None


def swebench_problems(value: object) -> tuple[Finding, ...]:
    """Return every problem of a harness report, style 4 or 5, which may be any parsed JSON."""
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
            message = f"{_ids_text(twice)} stands in this list more than once"
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
                names = " or ".join(f"`{one}`" for one in holders)
                message = f"{_ids_text(lost)} is not in {names}"
                yield error("ids_contradict", pointer(name), message)
    for one, other in APART:
        if both := set(sound.get(one, ())) & set(sound.get(other, ())):
            message = f"{_ids_text(both)} is in `{other}` as well"
            yield error("ids_contradict", pointer(one), message)


def _reasons(sound: dict[str, Any]) -> Iterator[Finding]:
    if not all(name in sound for name in STYLE_5_ONLY):
        return
    reasons: dict[str, str] = sound["failure_reasons"]
    lists = {tier: set(sound[f"{tier}_ids"]) for tier in ("infra_failure", "ambiguous_failure")}
    classified = set().union(*lists.values())
    if lost := classified - reasons.keys():
        message = f"{_ids_text(lost)} is classified as a failure, without a reason"
        yield error("ids_contradict", pointer("failure_reasons"), message)
    for instance_id, reason in reasons.items():
        at = pointer("failure_reasons", key_part(instance_id))
        tier = FAILURE_TIERS.get(reason)
        if instance_id not in classified:
            yield error("ids_contradict", at, "there is a reason, and no list has this instance")
        elif tier is None:
            message = f"{excerpt(reason)} is no reason that swebench 5.0 gives"
            yield warning("unknown_reason", at, message)
        elif instance_id not in lists[tier]:
            yield error("ids_contradict", at, f"{excerpt(reason)} belongs to `{tier}_ids`")


def _ids_text(ids: Collection[str]) -> str:
    """Return the first of some ids, and how many there are besides."""
    more = len(ids) - 1
    return excerpt(min(ids)) + (f" (and {more} more)" if more else "")


class Checked(NamedTuple):
    """One prediction of a file, and what is wrong with it."""

    prediction: Prediction | None
    """None when one of the findings is an error."""
    findings: tuple[Finding, ...]


class PredictionCheck:
    """Looks at the predictions of one file in turn, and remembers what may stand only once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._model: str | None = None
        self._several = False

    def look(self, value: object, where: str = "", line: int | None = None) -> Checked:
        """Return the next prediction, and what is wrong with it; as `misfits`."""
        found: tuple[Finding, ...] = ()
        if isinstance(value, dict) and "model_patch" not in value:
            value = value | {"model_patch": None}
            message = "this field is absent; the harness takes that for an empty patch"
            found = (warning("patch_absent", where + pointer("model_patch"), message, line),)
        if wrong := misfits(Prediction, value, where, line):
            return Checked(None, (*found, *wrong))
        prediction = Prediction.model_validate(value)
        found = (*found, *self._among_others(prediction, where, line))
        return Checked(prediction if is_valid(found) else None, found)

    def _among_others(self, one: Prediction, where: str, line: int | None) -> Iterator[Finding]:
        if one.instance_id in self._seen:
            message = f"a prediction for {excerpt(one.instance_id)} stands before this one"
            yield error("duplicate_instance_id", where + pointer("instance_id"), message, line)
        self._seen.add(one.instance_id)
        if self._model is None:
            self._model = one.model_name_or_path
        elif one.model_name_or_path != self._model and not self._several:
            self._several = True
            models = f"{excerpt(one.model_name_or_path)} after those of {excerpt(self._model)}"
            message = f"predictions of {models}; the harness names its report after the first model"
            yield warning("several_models", where + pointer("model_name_or_path"), message, line)


def prediction_problems(value: object) -> tuple[Finding, ...]:
    """Return every problem of a JSON document of predictions, a list or an object.

    Files of lines go through `PredictionCheck`, a line at a time.
    """
    return tuple(finding for one in document_predictions(value) for finding in one.findings)


def document_predictions(value: object) -> Iterator[Checked]:
    """Yield the predictions of a JSON document, in its order, with what is wrong with each."""
    check = PredictionCheck()
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield check.look(one, pointer(number))
    elif isinstance(value, dict):
        for key, one in value.items():
            where = pointer(key_part(key))
            of_key = _key_problems(key, one, where)
            filled = {"instance_id": key} | one if isinstance(one, dict) else one
            checked = check.look(filled, where)
            yield checked._replace(findings=(*of_key, *checked.findings))
    else:
        message = f"a list or an object of predictions is needed, found {described(value)}"
        yield Checked(None, (error("wrong_type", "", message),))


def _key_problems(key: object, value: object, where: str) -> tuple[Finding, ...]:
    if not isinstance(value, dict):
        return ()
    if "instance_id" not in value:
        message = "the id is this prediction's key alone: sb-cli reads that, the harness does not"
        return (warning("id_in_key", where, message),)
    if value["instance_id"] != key:
        message = f"the key is {described(key)}, and the harness goes by `instance_id`"
        return (warning("id_in_key", where + pointer("instance_id"), message),)
    return ()
