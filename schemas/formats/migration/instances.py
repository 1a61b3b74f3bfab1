"""Instances of an older report as instances of v2: each value keeps what it said.

Fields that the older schema declares must be of their type. What else an entry holds is taken over
where v2 has a place for it and it fits there, and is kept beside the report where not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from schemas.base import Finding
from schemas.formats.migration.functional import breakdown_of
from schemas.formats.migration.ledger import (
    SCORE,
    Account,
    Ledger,
    fits,
    mismatch,
    not_allowed,
    take_fields,
)
from schemas.formats.report_v1 import ID_KEYS, STATUSES
from schemas.formats.report_v2_instance import ValidationBreakdown
from schemas.io.json_text import excerpt

Entry = dict[str, Any]

ABSENT = object()


class Instances(NamedTuple):
    """What was found in a list of instances."""

    instances: list[Entry]
    kept: dict[str, Entry]
    """By instance id: what has no place in v2."""
    words: Counter[str]
    """How often each older word for a status stands there, in lower case."""
    findings: list[Finding]


class InstanceReader:
    """Reads the instances of one older report."""

    def __init__(
        self, base: str, ledger: Ledger, functional: Mapping[str, Entry], *, lenient: bool
    ) -> None:
        """Make a reader.

        Args:
            base: JSON pointer of the list.
            ledger: where each move is entered.
            functional: results of functional validation by instance id.
            lenient: an absent id or status has a default, as in the flat shape.
        """
        self._found = Instances([], {}, Counter(), [])
        self._account = Account(base, ledger, self._found.findings)
        self._functional_account = Account("/functional_validation", ledger, self._found.findings)
        self._functional, self._lenient = functional, lenient

    def read(self, entries: Iterable[object]) -> Instances:
        """Return the instances in their order, with every problem of every entry."""
        for place, entry in enumerate(entries):
            if isinstance(entry, dict):
                self._read_one(place, dict(entry))
            else:
                self._account.add_error("wrong_type", (place,), mismatch(entry, "an object"))
        return self._found

    def _read_one(self, place: int, left: Entry) -> None:
        """Take the fields of an entry out of it one by one, and keep the rest."""
        instance_id = self._id(place, left)
        if instance_id in self._found.kept:
            message = f"the id {excerpt(instance_id)} stands here a second time"
            self._account.add_error("duplicate_instance_id", (place,), message)
        kept: Entry = {}
        new: Entry = {"instance_id": instance_id}
        self._status(place, left, new, kept)
        take_fields(place, left, new, self._account)
        if "duration_seconds" not in new:
            self._account.defaulted("duration", "duration_seconds", "absent: null")
        self._validation(place, left, new, kept)
        for key in left:
            self._account.carried(key)
        self._found.instances.append(new)
        self._found.kept[instance_id] = left | kept

    def _id(self, place: int, left: Entry) -> str:
        """Return the id of an entry, or one that no other has where it is wrong."""
        key = next((key for key in ID_KEYS if left.get(key) is not None), None)
        if key is None and self._lenient:
            self._account.defaulted("instance_id", "instance_id", "absent: `unknown`")
            return "unknown"
        if key is None:
            message = "`task_id` or `instance_id` is missing"
            self._account.add_error("missing_field", (place,), message)
        elif isinstance(left[key], str):
            self._account.mapped(key, "instance_id")
            return str(left.pop(key))
        else:
            self._account.add_error("wrong_type", (place, key), mismatch(left[key], "text"))
        return f"\0{place}"

    def _status(self, place: int, left: Entry, new: Entry, kept: Entry) -> None:
        """Set status and verdict; what the entry says of either is kept, also a contradiction."""
        flag = left.pop("resolved", None)
        if not isinstance(flag, bool | None):
            message = mismatch(flag, "true or false")
            self._account.add_error("wrong_type", (place, "resolved"), message)
        word = left.pop("status", ABSENT)
        if word is ABSENT and self._lenient:
            word = "resolved" if flag else "error"
            why = "by its verdict" if flag else "as in the older tool"
            self._account.defaulted("status", "status", f"absent: {word}, {why}")
        elif isinstance(word, str) and word.lower() in STATUSES:
            self._word(word, kept)
        elif word is ABSENT:
            self._account.add_error("missing_field", (place,), "`status` is missing")
            return
        else:
            message = mismatch(word, f"{', '.join(STATUSES)}, in any case of letters")
            self._account.add_error("unknown_status", (place, "status"), message)
            return
        status = STATUSES[word.lower()]
        self._found.words[word.lower()] += 1
        if word.lower() == "timeout":
            new["error_type"] = "timeout"
        by_status = status == "resolved"
        new |= {"status": status, "resolved": by_status if flag is None else flag}
        if flag is None:
            self._account.defaulted("resolved", "resolved", "absent: follows from the status")
        else:
            note = "" if flag == by_status else "contradicts the status; both stay as they are"
            self._account.mapped("resolved", "resolved", note)

    def _word(self, word: str, kept: Entry) -> None:
        """Enter what a word for a status became; another word than that of v2 is kept."""
        status = STATUSES[word.lower()]
        self._account.mapped("status", "status", "" if word == status else f"{word} is {status}")
        if word != status:
            kept["status"] = word
            self._account.carried("status", note="the older word")

    def _validation(self, place: int, left: Entry, new: Entry, kept: Entry) -> None:
        """Set the components: as the entry has them, else by its functional validation."""
        score = left.get("score")
        if not SCORE.fits(score):
            not_allowed(place, "score", score, SCORE, self._account)
            return
        functional = self._functional.get(new["instance_id"], {})
        used: dict[str, str] = {}
        if fits(ValidationBreakdown, left.get("validation")):
            validation = left.pop("validation")
            self._account.mapped("validation", "validation")
        else:
            validation, used = breakdown_of(functional)
        if score is None:
            left.pop("score", None)
        elif used or validation.get("total_score") in {None, score}:
            used.pop("score", None)
            validation = validation | {"total_score": left.pop("score")}
            self._account.mapped("score", "validation/total_score")
        if not validation:
            self._account.defaulted("score", "validation/total_score", "absent: null")
        new["validation"] = validation
        functional_key = "functional_validation"
        while functional_key in left:  # the entry has one of its own
            functional_key += "_of_run"
        self._keep_functional(functional_key, functional, used, kept)

    def _keep_functional(
        self, place: str, functional: Entry, used: Mapping[str, str], kept: Entry
    ) -> None:
        """Enter what became of a result of functional validation, and keep its rest."""
        for key, target in used.items():
            self._functional_account.mapped(key, f"validation/{target}")
        rest = {key: value for key, value in functional.items() if key not in used}
        for key in rest:
            self._functional_account.carried(key, place, key)
        if rest:
            kept[place] = rest
