"""A report as Markdown for a pull request: the answer, what to distrust, what flipped and shifted.

Names and answers from outside are text only. A comment of a hosting service holds 65,536
characters, and this stays below, however much is wrong: what does not fit is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from analyze.regressions.document import (
    entry_line,
    everything,
    headline,
    mark,
    names,
    open_sentences,
)
from analyze.render.numbers import (
    DASH,
    case_mean,
    duration,
    millis,
    moment,
    percent,
    strict_after,
    usd,
    whole,
)
from analyze.render.text import beginning, markdown_rows, safe
from analyze.report.sentences import change_sentence, changes_beside, headline_of, runs_named
from analyze.summary.summary_table import as_text
from schemas.errors import counted
from schemas.output.report import ModelAnswer, ReportedRun, RunReport
from schemas.output.summary import GroupSummary
from schemas.run.model_names import with_id

MOST_BYTES = 60_000

MOST_ROWS = 40
"""Of each table or list; the page has more, and JSON all of them."""

LONGEST_TEXT = 400
"""Characters of a name or a sentence; one of an imported run can be a megabyte."""

LONGEST_COMMAND = 1_000
"""A command that is cut would do something else, so that a longer one is left out."""

BACKTICKS = re.compile("`+")

TITLES = ("model", "passed %", "95 %", "since the baseline", "coverage %", "p50 ms", "cost USD")
FLIP_TITLES = ("flip", "case", "model", "baseline", "this run", "both answers")


def report_markdown(report: RunReport) -> str:
    """Return a report as Markdown, at most MOST_BYTES of UTF-8."""
    end = _section("Go deeper", [_command(one) for one in report.provenance.commands])
    sections = [
        [f"# Report of {_text(report.run.run_id)}"],
        [f"**{_text(headline_of(report), 4 * LONGEST_TEXT)}**"],
        [_text(line) for line in _about(report)],
        _table(TITLES, [_model_row(answer, report) for answer in report.answer]),
        _section("Open shifts", _open_shifts(report)),
        _section("Acknowledged, and no such shift", _unused(report)),
        _section("To distrust", _doubts(report)),
        _flips(report),
        _section("Level shifts", _shifts(report)),
    ]
    return _fitted(sections, end)


def _fitted(sections: Sequence[Sequence[str]], end: Sequence[str]) -> str:
    """Return sections with empty lines between; past the limit, lines of the last ones go."""
    last = "\n".join(end)
    left_out = "(what follows does not fit here)"
    room = MOST_BYTES - _size(last) - _size(left_out) - 8
    blocks: list[str] = []
    for section in sections:
        kept: list[str] = []
        for line in section:
            room -= _size(line) + 2
            if room < 0:
                blocks += ["\n".join(kept), left_out, last]
                return "\n\n".join(filter(None, blocks)) + "\n"
            kept.append(line)
        blocks.append("\n".join(kept))
    return "\n\n".join(filter(None, [*blocks, last])) + "\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _text(text: str, most: int = LONGEST_TEXT) -> str:
    """Return text from outside on one line, as text only."""
    return as_text(beginning(text, most))


def _command(command: str) -> str:
    """Return a command as it is typed, which no Markdown in it can leave."""
    typed = safe(" ".join(command.split()))
    if not typed or len(command) > LONGEST_COMMAND:
        return ""
    fence = "`" * (1 + max(map(len, BACKTICKS.findall(typed)), default=0))
    pad = " " if "`" in (typed[0], typed[-1]) else ""
    return f"{fence}{pad}{typed}{pad}{fence}"


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table of cells that are safe already; nothing at all without rows."""
    return markdown_rows(titles, rows[:MOST_ROWS]) + _more(len(rows), "")


def _section(title: str, lines: Sequence[str]) -> list[str]:
    """Return a list under a title; nothing at all without lines."""
    kept = [f"- {line}" for line in lines if line]
    if not kept:
        return []
    return [f"## {title}", "", *kept[:MOST_ROWS], *_more(len(kept), "- ")]


def _more(n_all: int, mark: str) -> list[str]:
    """Return how many more there are; after a table an empty line ends it first."""
    if n_all <= MOST_ROWS:
        return []
    line = f"{mark}and {whole(n_all - MOST_ROWS)} more"
    return [line] if mark else ["", line]


def _about(report: RunReport) -> Iterator[str]:
    """Yield what was run, and what it is compared with."""
    run = report.run
    yield f"Suite {run.suite_title or run.suite_id}; {'; '.join(_facts(run))}."
    if report.baseline:
        yield f"Baseline: {runs_named(report.baseline)}."


def _facts(run: ReportedRun) -> Iterator[str]:
    if began := moment(run.started_at_ms):
        yield f"{began} UTC"
    cases = counted(run.n_cases, "case")
    yield f"{whole(run.n_total)} of {counted(run.n_planned, 'trial')} of {cases}"
    if took := duration(run.took_ms or None):
        yield f"took {took}"
    if run.labels:
        yield f"labels {names(run.labels)}"


def _model_row(answer: ModelAnswer, report: RunReport) -> list[str]:
    model = _summary_of(answer, report)
    known = answer.low is not None and answer.high is not None
    mean = case_mean(answer.passed_rate, answer.estimate)
    since = [change_sentence(answer), changes_beside(report).get(answer.model_id, "")]
    return [
        _text(with_id(answer.model_id)),
        _passed(answer),
        f"{mean}{percent(answer.low)} to {percent(answer.high)}" if known else DASH,
        _text("; ".join(filter(None, since))) if report.baseline else DASH,
        (percent(model.coverage) if model else "") or DASH,
        _median(model) if model else DASH,
        _cost(model) if model else DASH,
    ]


def _passed(answer: ModelAnswer) -> str:
    if answer.passed_rate is None:
        return DASH
    strict = strict_after(answer.score_strict, answer.coverage)
    return percent(answer.passed_rate) + strict


def _summary_of(answer: ModelAnswer, report: RunReport) -> GroupSummary | None:
    wanted = answer.provider, answer.model, answer.thinking_level, answer.model_id
    for model in report.summary.models:
        if (model.provider, model.model, model.thinking_level, model.model_id) == wanted:
            return model
    return None


def _median(model: GroupSummary) -> str:
    times = model.latency_ms
    if times.p50 is None:
        return DASH
    return millis(times.p50) + ("" if times.supported.p50 else f" (of {whole(times.n)} only)")


def _cost(model: GroupSummary) -> str:
    if model.cost_usd is None:
        return DASH
    if model.n_cost_known == model.n_total:
        return usd(model.cost_usd)
    trials = counted(model.n_total, "trial")
    return f"{usd(model.cost_usd)} (of {whole(model.n_cost_known)} of {trials})"


def _doubts(report: RunReport) -> list[str]:
    lines = []
    for doubt in report.doubts:
        head = "**serious**: " if doubt.is_serious else ""
        command = _command(doubt.command or "")
        lines.append(head + _text(doubt.sentence) + (f" ({command})" if command else ""))
    return lines


def _flips(report: RunReport) -> list[str]:
    """Return the cases whose majority changed, with the commands that show both answers."""
    rows = [
        [
            flip.flip,
            _text(flip.case_id),
            _text(flip.candidate_model_id),
            f"{whole(flip.base_passed)} of {whole(flip.base_scored)}",
            f"{whole(flip.candidate_passed)} of {whole(flip.candidate_scored)}",
            "; ".join(filter(None, map(_command, flip.commands))).replace("|", r"\|"),
        ]
        for flip in report.flips
    ]
    if not rows:
        return []
    cases = report.comparison.cases if report.comparison else ()
    n_unseen = sum(case.flip is not None for case in cases) - len(rows)
    more = ["", f"and {whole(n_unseen)} more"] if n_unseen > 0 else []
    return ["## Flipped cases", "", *_table(FLIP_TITLES, rows), *more]


def _open_shifts(report: RunReport) -> list[str]:
    """Return what stands: neither mended nor acknowledged."""
    return [
        "; ".join(filter(None, (_text(sentence, 2 * LONGEST_TEXT), _command(command))))
        for sentence, command in open_sentences(report.open_shifts)
    ]


def _unused(report: RunReport) -> list[str]:
    """Return the entries of the file of known things that fit no shift."""
    entries = report.shifts.unused if report.shifts else ()
    return [_text(entry_line(entry), 2 * LONGEST_TEXT) for entry in entries]


def _shifts(report: RunReport) -> list[str]:
    """Return every shift, as on the page: recoveries and acknowledged ones say what they are."""
    found = everything(report.shifts) if report.shifts else []
    lines = []
    for one in found:
        changed = f"; changed with it: {'; '.join(one.changed)}" if one.changed else ""
        lines.append(_text(mark(one) + headline(one) + changed, 2 * LONGEST_TEXT))
    return lines
