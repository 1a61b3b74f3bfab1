"""What a row is of each view: names, types, order and meaning of its columns.

The SQL is written by hand and these records prove it: a test compares the columns of each view
with its contract. No rule and no arithmetic live here.
"""

from __future__ import annotations

from types import MappingProxyType

from analyze.contracts.base import GROUP_ORDER, Group, GroupRow, ViewRow
from analyze.contracts.case_outcomes import CaseOutcomesRow
from analyze.contracts.history import (
    CaseMatrixRow,
    CellHistoryRow,
    CellsRow,
    FlipsRow,
    PairsRow,
)
from analyze.contracts.models import (
    CasePassesRow,
    CaseToolUseRow,
    CostQualityRow,
    FailureSummaryRow,
    GroupToolCountsRow,
    LatencyHistogramRow,
    ModelSummaryRow,
    PassCountsRow,
    RepetitionsRow,
    RunSummaryRow,
    TiersRow,
    ToolCountsRow,
    ToolUseRow,
)
from analyze.contracts.plan import (
    CaseAliasesRow,
    CasesRow,
    EventsRow,
    ModelsRow,
    PlannedTrialsRow,
    RunsRow,
)
from analyze.contracts.trials import AttemptsRow, FailuresRow, OutputsRow, ResultsRow

CONTRACTS: MappingProxyType[str, type[ViewRow]] = MappingProxyType(
    {
        contract.view: contract
        for contract in (
            CasePassesRow,
            CaseOutcomesRow,
            CaseToolUseRow,
            PassCountsRow,
            ToolCountsRow,
            RunsRow,
            ModelsRow,
            CasesRow,
            CaseAliasesRow,
            PlannedTrialsRow,
            ResultsRow,
            AttemptsRow,
            FailuresRow,
            OutputsRow,
            EventsRow,
            RunSummaryRow,
            ModelSummaryRow,
            FailureSummaryRow,
            RepetitionsRow,
            CellsRow,
            CellHistoryRow,
            PairsRow,
            FlipsRow,
            CaseMatrixRow,
            ToolUseRow,
            GroupToolCountsRow,
            TiersRow,
            LatencyHistogramRow,
            CostQualityRow,
        )
    }
)
"""The record of each view that has one, by the view's name."""

__all__ = [
    "CONTRACTS",
    "GROUP_ORDER",
    "AttemptsRow",
    "CaseAliasesRow",
    "CaseMatrixRow",
    "CaseOutcomesRow",
    "CasePassesRow",
    "CaseToolUseRow",
    "CasesRow",
    "CellHistoryRow",
    "CellsRow",
    "CostQualityRow",
    "EventsRow",
    "FailureSummaryRow",
    "FailuresRow",
    "FlipsRow",
    "Group",
    "GroupRow",
    "GroupToolCountsRow",
    "LatencyHistogramRow",
    "ModelSummaryRow",
    "ModelsRow",
    "OutputsRow",
    "PairsRow",
    "PassCountsRow",
    "PlannedTrialsRow",
    "RepetitionsRow",
    "ResultsRow",
    "RunSummaryRow",
    "RunsRow",
    "TiersRow",
    "ToolCountsRow",
    "ToolUseRow",
    "ViewRow",
]
