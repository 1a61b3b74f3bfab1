"""A report as Markdown for a pull request: the answer, what to distrust, what flipped and shifted.

Names and answers from outside are text only. A comment of a hosting service holds 65,536
characters, and this stays below, however much is wrong: what does not fit is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyze.regressions.document import names
from analyze.render.numbers import duration, moment, whole
from analyze.report.markdown_text import MAX_TEXT_CHARS, command_text, list_lines, plain
from analyze.report.sections import SECTIONS
from analyze.report.sentences import headline_of, runs_named
from schemas.errors import counted
from schemas.output.report import ReportedRun, RunReport

MAX_PAGE_BYTES = 60_000


def report_markdown(report: RunReport) -> str:
    """Return a report as Markdown, at most MAX_PAGE_BYTES of UTF-8."""
    end = list_lines("Go deeper", [command_text(one) for one in report.provenance.commands])
    blocks = [
        [f"# Report of {plain(report.run.run_id)}"],
        [f"**{plain(headline_of(report), 4 * MAX_TEXT_CHARS)}**"],
        [plain(line) for line in _about(report)],
        *(block for name in SECTIONS for block in SECTIONS[name].markdown(report)),
    ]
    return _fitted(blocks, end)


def _fitted(sections: Sequence[Sequence[str]], end: Sequence[str]) -> str:
    """Return sections with empty lines between; past the limit, lines of the last ones go."""
    last = "\n".join(end)
    left_out = "(what follows does not fit here)"
    room = MAX_PAGE_BYTES - _size(last) - _size(left_out) - 8
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
