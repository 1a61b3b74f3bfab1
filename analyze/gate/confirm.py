"""A line of a gate beside the same line of a fresh run: failures that are noise go away."""

from __future__ import annotations

from collections.abc import Sequence

from schemas.output.gate import GateLine, GateRules, Outcome


def confirmed_by(
    line: GateLine, fresh: GateLine | None, run_ids: Sequence[str], rules: GateRules
) -> GateLine:
    """Return a line as it stands beside the same line of a fresh run.

    A failure stands when both runs fail. A pass stands by itself, but for a gate that is to prove:
    there both have to prove it. What either could not judge is never a failure.

    Args:
        line: of the candidate.
        fresh: of the confirming run; None when it says nothing of this model and metric.
        run_ids: the confirming run, with its shards.
        rules: what was asked.
    """
    name = ", ".join(run_ids)
    said = "cannot_judge" if fresh is None else fresh.outcome
    theirs = "it has nothing of this model" if fresh is None else fresh.why
    if line.outcome == "cannot_judge":
        return line.model_copy(update={"confirmed": said == "cannot_judge"})
    outcome: Outcome = line.outcome
    if said == line.outcome:
        link = "says the same"
    elif line.outcome == "failed":
        is_refuted = said == "passed" and not rules.prove
        outcome = "passed" if is_refuted else "cannot_judge"
        link = "does not confirm this" if said == "passed" else "can neither confirm nor clear this"
    else:
        outcome = "cannot_judge" if rules.prove else "passed"
        link = "says otherwise" if said == "failed" else "cannot say"
    why = f"{line.why}; {name} {link}: {theirs}"
    return line.model_copy(
        update={"outcome": outcome, "confirmed": said == line.outcome, "why": why}
    )
