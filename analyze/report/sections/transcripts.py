"""Trials that can be read in the report itself, as many as the page may embed.

Those that flipped come first, then those that failed, then all others. They are chosen in the
lake with a limit, so that a run of a million trials costs no more memory than one of a thousand.
The order is a promise: the same lake gives the same trials.

Traces are read one frame at a time and only as long as there is room for another transcript, so
that neither a run of a million trials nor a trace of 256 MB costs more than the budget does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import JsonValue

from analyze.comparison.evidence.outcomes import of_runs
from analyze.query.run_ref import run_folder
from analyze.query.session import Session
from analyze.render.text import clipped
from analyze.report.packed import PackedTrials
from analyze.report.sections import ReportContext, Section, query
from analyze.report.trace_excerpt import answer_part, bytes_of, fitted, parts_of, units_of
from analyze.show.expected import expected_words
from analyze.show.judgements import ShownJudgement, read_judgements
from analyze.show.trace_file import Beginning, NoTrace, read_beginning, validators_of
from analyze.show.transcript import TrialPage, facts_of, judged_lines, verdict_of
from analyze.show.trial_rows import CutText, ShownTrial, TrialText, read_texts, read_trials
from schemas.output.report import RunReport
from schemas.output.report_trials import Flip, Transcript, TranscriptPart, Transcripts
from schemas.run.trace import Artifact

IS_BAD = "(coalesce(not passed, false) or not is_success)"

MAX_SHARE = 0.4
"""Of the budget, for one transcript."""

TRIAL_BYTES = 100
"""Of the budget, for each trial that is not of a flip: no trial is embedded in less."""

SLICE = 5_000
"""Trials that are read at once."""

MAX_ANSWER_CHARS = 12_000
"""Of the beginning and of the end of an answer each, where the trace does not have it."""

MIN_TURNS_BYTES = 2_000
"""Less room than this is no room for the turns of a trial that do not fit as a whole."""

MIN_TRANSCRIPT_BYTES = 300
"""Less room than this is no room for any transcript."""

MIN_TRACE_BYTES = 1 << 22
"""Of a trace that is read at least, whatever the budget is."""

MAX_FACT_CHARS = 300
MAX_LINE_CHARS = 1_000
"""Of what was expected and what came, in one line."""

MAX_LINES = 30

NOT_SHOWN = frozenset({"verdict", "trace"})
"""Facts of a trial that the page has elsewhere, or that lead nowhere from there."""


class TrialKey(NamedTuple):
    """What names a trial."""

    run_id: str
    model_id: str
    case_id: str
    repetition: int


@dataclass(frozen=True)
class ChosenTrial:
    """One trial that is to be shown."""

    key: TrialKey
    record_no: int
    reason: Literal["flipped", "failed", "other"]
    is_baseline: bool = False


@dataclass(frozen=True)
class Choice:
    """Trials in the order in which they are shown as long as there is room."""

    trials: Sequence[ChosenTrial]
    n_trials: int
    """Of the run, that have a result."""
    n_not_passed: int
    """Of them, that failed or did not pass."""


def choose_trials(context: ReportContext, flips: Sequence[Flip], most: int) -> Choice:
    """Return the trials that are shown, and how many there are.

    Args:
        context: the run that is reported.
        flips: cases that flipped; each gives a trial of its candidate and one of its base.
        most: trials that are not of a flip; 0: none is looked for.

    Raises:
        ViewError: the lake cannot be read.
    """
    session = context.session
    flipped = [key for flip in flips for key in _keys(flip)]
    known = _trial_outcomes(session, flipped)
    ours = {key for key in flipped[::2] if key in known}
    ((n_trials, n_not_passed),) = session.rows(
        f"select count(*), count(case when {IS_BAD} then 1 end) from trials "  # noqa: S608 - ours
        "where run_id = ?",
        [context.run_id],
    )
    trials = [
        ChosenTrial(key, known[key][0], "flipped", is_baseline=bool(place % 2))
        for place, key in enumerate(flipped)
        if key in known
    ]
    if most:
        trials += [
            ChosenTrial(key, record_no, "failed" if is_bad else "other")
            for model_id, case_id, repetition, record_no, is_bad in session.rows(
                query("chosen_trials"),
                [context.run_id, n_not_passed < most + len(ours), most, most + len(ours)],
            )
            if (key := TrialKey(context.run_id, model_id, case_id, repetition)) not in ours
        ]
    return Choice(trials, n_trials, n_not_passed)


def _keys(flip: Flip) -> tuple[TrialKey, TrialKey]:
    """Return the trials of a flip: the candidate's, then the base's."""
    return (
        TrialKey(
            flip.candidate_run_id, flip.candidate_model_id, flip.case_id, flip.candidate_repetition
        ),
        TrialKey(flip.base_run_id, flip.model_id, flip.case_id, flip.base_repetition),
    )


def _trial_outcomes(session: Session, keys: Sequence[TrialKey]) -> dict[TrialKey, tuple[int, bool]]:
    """Return record_no and whether it failed or did not pass, of the trials that there are."""
    if not keys:
        return {}
    run_ids = sorted({key.run_id for key in keys})
    rows = session.rows(
        f"""
        with wanted as (
            select
                unnest(?) as run_id, unnest(?) as model_id, unnest(?) as case_id,
                unnest(?) as repetition
        )
        select run_id, model_id, case_id, repetition, record_no, {IS_BAD}
        from trials
        semi join wanted using (run_id, model_id, case_id, repetition)
        where {of_runs(run_ids)}
        """,  # noqa: S608 - our own names
        [*map(list, zip(*keys, strict=True)), *run_ids],
    )
    return {TrialKey(*row[:4]): (row[4], row[5]) for row in rows}


@dataclass(frozen=True)
class _Source:
    """What all shown trials of one run are made of, but for their traces."""

    folder: Path | None
    """Of the run; None when it is not here."""
    trials: Mapping[int, ShownTrial]
    texts: Mapping[int, CutText]
    validators: Mapping[str, dict[str, JsonValue] | None]
    judgements: Mapping[int, Sequence[ShownJudgement]]


def transcripts_of(context: ReportContext, flips: Sequence[Flip], budget_bytes: int) -> Transcripts:
    """Return trials word for word: those that flipped, those that did not pass, then all others.

    All of them together take at most `budget_bytes` of a page, and the text of one is at most two
    fifths of that. The first trial without room ends the list.

    Args:
        context: the run that is reported.
        flips: cases whose trials are shown first, each beside the baseline's.
        budget_bytes: as a page embeds them; 0: none is shown and no trace is read.

    Raises:
        ViewError: the lake cannot be read.
    """
    is_room = budget_bytes >= MIN_TRANSCRIPT_BYTES
    most = 1 + budget_bytes // TRIAL_BYTES if is_room else 0
    choice = choose_trials(context, flips, most)
    shown = list(_shown(context, choice.trials, budget_bytes)) if is_room else []
    return Transcripts(
        shown=tuple(shown),
        n_trials=choice.n_trials,
        n_not_passed=choice.n_not_passed,
        n_left_out=choice.n_trials - sum(one.run_id == context.run_id for one in shown),
        budget_bytes=budget_bytes,
        command=context.command("show", context.run_id),
    )


def _shown(
    context: ReportContext, chosen: Sequence[ChosenTrial], budget_bytes: int
) -> Iterator[Transcript]:
    share = int(budget_bytes * MAX_SHARE)
    packed = PackedTrials()
    for begin in range(0, len(chosen), SLICE):
        some = chosen[begin : begin + SLICE]
        sources = _sources(context.session, some, share)
        for one in some:
            room = min(packed.room(budget_bytes), share)
            if room < MIN_TRANSCRIPT_BYTES:
                return
            transcript = _transcript(context, one, sources[one.key.run_id], room)
            if transcript is None:
                return
            packed.add("-".join(map(str, one.key)), transcript)
            if packed.room(budget_bytes) < 0:
                return
            yield transcript


def _sources(session: Session, chosen: Iterable[ChosenTrial], share: int) -> dict[str, _Source]:
    """Return what is read of each run at once: rows, answers and what was expected."""
    by_run: defaultdict[str, list[int]] = defaultdict(list)
    for one in chosen:
        by_run[one.key.run_id].append(one.record_no)
    with session.as_written() as written:  # what lies in a run's folder has the ids of that run
        return {run_id: _source(written, run_id, nos, share) for run_id, nos in by_run.items()}


def _source(session: Session, run_id: str, record_nos: Sequence[int], share: int) -> _Source:
    of_runs = ", ".join(str(int(number)) for number in record_nos)
    trials = read_trials(session, run_id, where=f"trials.record_no in ({of_runs})")
    folder = run_folder(session, run_id)
    return _Source(
        folder=folder,
        trials={trial.record_no: trial for trial in trials if trial.record_no is not None},
        texts=read_texts(session, trials, min(share // 2 + 1, MAX_ANSWER_CHARS)),
        validators=validators_of(folder, {trial.case_id for trial in trials}),
        judgements=read_judgements(session, run_id, record_nos),
    )


def _transcript(
    context: ReportContext, one: ChosenTrial, source: _Source, room: int
) -> Transcript | None:
    """Return one trial in so many bytes; None when there is no room for it."""
    trial = source.trials[one.record_no]
    text = source.texts.get(one.record_no) or CutText(TrialText("", None, None, 0), 0)
    trace = _trace(context.session, source.folder, trial, max(MIN_TRACE_BYTES, 2 * room))
    validator = source.validators.get(trial.case_id)
    said = source.judgements.get(one.record_no, ())
    page = TrialPage(trial, text.text, trace, validator, said)
    shell = Transcript(
        **one.key._asdict(),
        why=one.reason,
        is_baseline=one.is_baseline,
        verdict=verdict_of(trial),
        passed=trial.passed,
        failure_type=trial.failure_type,
        reason=clipped(trial.why, MAX_LINE_CHARS),
        expected=clipped(expected_words(validator), MAX_LINE_CHARS),
        tags=tuple(trial.tags),
        tools=tuple(dict.fromkeys(trial.tool_calls or ())),
        e2e_ms=trial.e2e_ms,
        cost_usd=trial.cost_usd,
        facts=tuple(
            (name, clipped(value, MAX_FACT_CHARS))
            for name, value in facts_of(page)
            if value and name not in NOT_SHOWN
        ),
        judged=tuple(
            clipped(line, MAX_LINE_CHARS) for line in islice(judged_lines(page), MAX_LINES)
        ),
        parts=(),
        n_parts_left_out=0,
        missing=clipped(trace.reason, MAX_FACT_CHARS) if isinstance(trace, NoTrace) else None,
        command=context.command(
            "show", trial.run_id, trial.case_id, trial.model_id, str(trial.repetition)
        ),
    )
    parts, units = _parts(trial, text, trace)
    room -= bytes_of(shell)
    found = fitted(parts, room, units)
    is_whole = found is not None and sum(map(bytes_of, parts)) <= room
    if found is None or not (is_whole or room >= MIN_TURNS_BYTES):
        return None
    return shell.model_copy(update={"parts": found.parts, "n_parts_left_out": found.n_left_out})


def _trace(
    session: Session, folder: Path | None, trial: ShownTrial, most_bytes: int
) -> Artifact | NoTrace:
    """Return the trace of a trial; of a reused one without it that of the trial it is from."""
    trace = read_beginning(folder, trial.artifact_path, most_bytes)
    first_run_id = trial.reused_from_run_id
    if isinstance(trace, Artifact | Beginning) or first_run_id is None:
        return trace
    rows = session.rows(
        """
        select artifact_path
        from trials
        where run_id = ? and run_fingerprint = (
            select any_value(run_fingerprint) from trials where run_id = ? and record_no = ?
        ) and artifact_path is not null
        order by record_no desc
        limit 1
        """,
        [first_run_id, trial.run_id, trial.record_no],
    )
    for (path,) in rows:
        first = read_beginning(run_folder(session, first_run_id), path, most_bytes)
        if isinstance(first, Artifact | Beginning):
            return first
    return trace


def _parts(
    trial: ShownTrial, text: CutText, trace: Artifact | NoTrace
) -> tuple[list[TranscriptPart], list[list[int]]]:
    """Return the turns of a trial, and which belong together.

    Without a whole trace the answer stands at the end.
    """
    if isinstance(trace, Artifact):
        return parts_of(trace.trace), units_of(trace.trace)
    events = trace.events if isinstance(trace, Beginning) else ()
    parts, units = parts_of(events), units_of(events)
    answer = answer_part(
        text.text.raw_output,
        is_beginning=bool(trial.raw_output_truncated),
        n_left_out=text.n_left_out,
    )
    return [*parts, answer], [*units, [len(parts)]]


def _page_parts(report: RunReport) -> dict[str, object] | None:
    found = report.transcripts
    if not found.n_trials:
        return None
    return {
        "n_shown": found.n_trials - found.n_left_out,
        "n_left_out": found.n_left_out,
        "command": found.command,
    }


TRANSCRIPTS = Section(
    "Transcripts",
    show=_page_parts,
    read=lambda context: transcripts_of(context, context.flips, context.transcript_bytes),
)
