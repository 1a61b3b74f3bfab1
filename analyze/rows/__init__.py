"""What a row is of each view: names, types and order of its columns.

The SQL is written by hand and these records prove it: a test compares the columns of each view
with its contract. No rule and no arithmetic live here.
"""

from __future__ import annotations

from types import MappingProxyType

from analyze.rows.base import GROUP_ORDER, Group, GroupRow, ViewRow
from analyze.rows.summary import (
    CasePassesRow,
    CaseToolUseRow,
    FailureSummaryRow,
    ModelSummaryRow,
    PassCountsRow,
    RunSummaryRow,
    ToolCountsRow,
)

CONTRACTS: MappingProxyType[str, type[ViewRow]] = MappingProxyType(
    {
        contract.view: contract
        for contract in (
            CasePassesRow,
            CaseToolUseRow,
            PassCountsRow,
            ToolCountsRow,
            ModelSummaryRow,
            FailureSummaryRow,
            RunSummaryRow,
        )
    }
)
"""The record of each view that has one, by the view's name."""

__all__ = [
    "CONTRACTS",
    "GROUP_ORDER",
    "CasePassesRow",
    "CaseToolUseRow",
    "FailureSummaryRow",
    "Group",
    "GroupRow",
    "ModelSummaryRow",
    "PassCountsRow",
    "RunSummaryRow",
    "ToolCountsRow",
    "ViewRow",
]
