"""An answer that is longer than a line may hold: its whole text goes into a trace."""

from __future__ import annotations

from analyze.importers.base import Traced
from schemas.run.result import Result
from schemas.run.trace import Artifact, FinalOutputEvent


def with_whole_text(result: Result, text: str) -> Result | Traced:
    """Return a result, with a trace of the whole text where its line was cut."""
    if not result.raw_output_truncated:
        return result
    artifact = Artifact(
        run_id=result.run_id,
        model_id=result.model_id,
        case_id=result.case_id,
        repetition=result.repetition,
        wall_ms=result.ended_at_ms - result.started_at_ms,
        request={},
        trace=(FinalOutputEvent(sequence=0, at_ms=result.ended_at_ms, content=text),),
    )
    return Traced(result, artifact)
