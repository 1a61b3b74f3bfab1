"""What judges prefer: of each profile and other trial the newest preference, with its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analyze.render.text import clipped, line_of
from analyze.show.judgements import MAX_SUMMARY_CHARS
from schemas.errors import counted

if TYPE_CHECKING:
    from analyze.query.session import Session

KEY = ("result_no", "evaluation_profile_id", "other_run_id", "other_model_id")

PREFERENCE = (
    *("other_result_no", "status", "outcome", "is_identical", "n_comparisons"),
    *("n_flips_to_first", "n_flips_to_second", "answer_chars", "other_answer_chars"),
)
"""What is shown of what all answers come to."""

ANSWER = (
    *("judge_run_id", "judge_id", "iteration", "pair_order", "served_model", "preferred"),
    *("failure", "error_message", "summary", "artifact_path"),
)
"""What is shown of one answer."""


@dataclass(frozen=True)
class ShownPreference:
    """What the judges of one profile say of one record against another trial."""

    said: Mapping[str, Any]
    """Of `KEY` without the record, and of `PREFERENCE`."""
    answers: Sequence[Mapping[str, Any]]
    """Each of `ANSWER`: the newest of each judge run, iteration and order."""

    def as_json(self) -> dict[str, Any]:
        """Return it as one JSON object."""
        return {**self.said, "answers": [dict(one) for one in self.answers]}


def read_preferences(
    session: Session, run_id: str, record_nos: Sequence[int]
) -> dict[int, list[ShownPreference]]:
    """Return what judges prefer of some records of a run, by record_no, others in order."""
    if not record_nos:
        return {}
    of: Any = {"run_id": run_id, "record_nos": record_nos}
    answers: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    parts = (*KEY, "judge_run_id", "iteration", "pair_order")
    for row in _newest(session, "stg_pair_iterations", parts, ANSWER, **of):
        key = tuple(row[name] for name in KEY)
        answers.setdefault(key, []).append({name: row[name] for name in ANSWER})
    found: dict[int, list[ShownPreference]] = {}
    for row in _newest(session, "stg_preferences", KEY, PREFERENCE, **of):
        key = tuple(row[name] for name in KEY)
        shown = ShownPreference(row, answers.get(key, ()))
        found.setdefault(row.pop("result_no"), []).append(shown)
    return found


def _newest(
    session: Session,
    view: str,
    parts: Sequence[str],
    names: Sequence[str],
    *,
    run_id: str,
    record_nos: Sequence[int],
) -> list[dict[str, Any]]:
    """Return the newest lines of a view about some records, by what tells them apart."""
    wanted = tuple(dict.fromkeys((*parts, *names)))
    rows = session.rows(
        f"select {', '.join(wanted)} from ("  # noqa: S608
        f"select *, row_number() over (partition by {', '.join(parts)} "
        "order by evaluated_at_ms desc, evaluation_no desc) as age "
        f"from {view} where run_id = ? and list_contains(?, result_no)) "
        f"where age = 1 order by {', '.join(parts)}",
        [run_id, list(record_nos)],
    )
    return [dict(zip(wanted, row, strict=True)) for row in rows]


def preference_lines(preferences: Sequence[ShownPreference]) -> Iterator[str]:
    """Yield what judges prefer, for people."""
    for one in preferences:
        said = one.said
        other = f"{said['other_model_id']} of run {said['other_run_id']}"
        who = f"compared by {said['evaluation_profile_id']} with {other}"
        yield line_of(f"{who}: {_outcome(said)}")
        for answer in one.answers:
            yield f"  {line_of(_answer(answer))}"


def _outcome(said: Mapping[str, Any]) -> str:
    if said["status"] == "failed":
        return "no answers of a judge in both orders could be used"
    if said["is_identical"]:
        return "tied: both left the same"
    flips = said["n_flips_to_first"] + said["n_flips_to_second"]
    remark = f"; {flips} of {counted(said['n_comparisons'], 'comparison')} went by the place"
    return f"{said['outcome'] or 'no judge can say'}{remark if flips else ''}"


def _answer(answer: Mapping[str, Any]) -> str:
    order = answer["pair_order"].replace("_", " ")
    who = f"{answer['judge_run_id']} {answer['iteration']}, {order} ({answer['judge_id']})"
    if answer["failure"] is not None:
        error = clipped(answer["error_message"] or "", MAX_SUMMARY_CHARS)
        return f"{who}: {answer['failure']}{': ' * bool(error)}{error}"
    summary = clipped(answer["summary"] or "", MAX_SUMMARY_CHARS)
    return f"{who}: {answer['preferred'].replace('_', ' ')}: {summary}"
