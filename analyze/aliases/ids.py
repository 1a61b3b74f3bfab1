"""Every id that a case of a suite ever had, for whoever holds a name from outside the lake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from analyze.query.session import Session
    from schemas.config.known_issues import Acknowledged, KnownFile, Quarantined

Entry = TypeVar("Entry", "Acknowledged", "Quarantined")


@dataclass(frozen=True)
class CaseIds:
    """Which id stands for which older one."""

    newest: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(suite_id, old id) to the newest id of the case."""

    def newest_of(self, suite_id: str, case_id: str) -> str:
        """Return the newest id of a case; its own where it was never joined."""
        return self.newest.get((suite_id, case_id), case_id)

    def all_of(self, suite_id: str, case_id: str) -> list[str]:
        """Return every id of a case, the newest first."""
        newest = self.newest_of(suite_id, case_id)
        older = (
            old for (suite, old), end in self.newest.items() if (suite, end) == (suite_id, newest)
        )
        return [newest, *sorted(older)]

    def known(self, known: KnownFile | None) -> KnownFile | None:
        """Return a file of known things with each case under its newest id."""
        if known is None or not self.newest:
            return known
        return known.model_copy(
            update={
                "acknowledged": self._named(known.acknowledged),
                "quarantined": self._named(known.quarantined),
            }
        )

    def _named(self, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        return tuple(
            entry
            if entry.case_id is None
            else entry.model_copy(update={"case_id": self.newest_of(entry.suite_id, entry.case_id)})
            for entry in entries
        )


def read_ids(session: Session) -> CaseIds:
    """Return the ids of a lake; a lake without aliases is not asked.

    Raises:
        ViewError: the lake cannot be read.
    """
    if not session.has_aliases:
        return CaseIds()
    rows = session.rows("select suite_id, old_case_id, case_id from case_aliases")
    return CaseIds({(suite_id, old): newest for suite_id, old, newest in rows})
