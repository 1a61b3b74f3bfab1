"""A gate for the terminal, and as Markdown such as the step summary of a build server shows.

The verdict comes first, then what decides it, what it could not see, and where to look. In Markdown
names from outside are text and nothing else: no links, no markup, no end of a cell.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

from analyze.comparison.document import CHANGE_TITLES, change_cells
from analyze.comparison.render import NAMES, cases_markdown, markdown_table
from analyze.gate.document import (
    MOST_CASES,
    OUTCOMES,
    by_need,
    has_own_baselines,
    header_fields,
    headline,
    held_against,
    line_title,
    metric_name,
    next_steps,
    not_tested,
    notes,
    worse_cases,
)
from analyze.regressions.document import INDENT, indented, open_lines, open_sentences
from analyze.render.numbers import whole
from analyze.render.text import UNLIMITED, Column, facts, line_of, table
from analyze.summary.summary_table import as_text
from schemas.errors import counted
from schemas.output.regressions import GateResult

CASE_COLUMNS = tuple(
    Column(title, "left" if least else "right", least, title in NAMES)
    for title, least in zip(CHANGE_TITLES, (6, 8, 6, None, None), strict=True)
)


def gate_lines(
    result: GateResult, width: int = UNLIMITED, runs_dir: Path | None = None
) -> Iterator[str]:
    """Yield a gate as lines.

    Sentences are wrapped at the width, and commands never cut.
    """
    yield headline(result)
    yield ""
    yield from facts((name, line_of(value)) for name, value in header_fields(result))
    for line in by_need(result.lines):
        yield ""
        yield line_of(f"{OUTCOMES[line.outcome]}: {line_title(line)}")
        yield from indented(line.why, width)
        if runs := held_against(result, line):
            yield from indented(f"held against {runs}", width)
    yield from open_lines(result.open_shifts, width)
    yield from _listed("not in the test", not_tested(result), width)
    yield from _listed("to know", notes(result), width)
    yield from _worse(result, width)
    yield from _listed("next", next_steps(result, runs_dir), width)


def _listed(title: str, sentences: Iterator[str], width: int) -> Iterator[str]:
    lines = [line for sentence in sentences for line in indented(sentence, width)]
    if lines:
        yield ""
        yield f"{title}:"
        yield from lines


def _worse(result: GateResult, width: int) -> Iterator[str]:
    cases = worse_cases(result)
    if not cases:
        return
    listed = cases[:MOST_CASES]
    more = "" if len(cases) == len(listed) else f", the worst {MOST_CASES} of them"
    yield ""
    title = f"{counted(len(cases), 'case')} passed less often{more}; one alone proves nothing:"
    yield from textwrap.wrap(title, width)
    rows = [[line_of(cell) for cell in change_cells(change)] for change in listed]
    yield from table(CASE_COLUMNS, rows, width)
    yield ""
    yield "their answers, the worst first:"
    for change in listed:
        yield INDENT + line_of(change.commands[-1])


def gate_markdown(result: GateResult, runs_dir: Path | None = None) -> str:
    """Return a gate as Markdown: verdict first, then why, then where to look."""
    return "\n".join(_lines(result, runs_dir)) + "\n"


def _lines(result: GateResult, runs_dir: Path | None) -> Iterator[str]:
    yield f"## {as_text(headline(result)).capitalize()}"
    yield ""
    for name, value in header_fields(result):
        yield f"- {name}: {as_text(value)}"
    if result.lines:
        yield ""
        against = ("Held against",) if has_own_baselines(result) else ()
        yield from markdown_table(
            ("Outcome", "Model", "Metric", "Why", *against),
            [
                (
                    OUTCOMES[line.outcome],
                    line.model_id,
                    metric_name(line.metric),
                    line.why,
                    *([held_against(result, line)] if against else []),
                )
                for line in by_need(result.lines)
            ],
        )
    yield from _bullets(
        "Open shifts, until the level is back or a file for --known acknowledges them",
        (f"{sentence}; {command}" for sentence, command in open_sentences(result.open_shifts)),
    )
    yield from _bullets("Not in the test", not_tested(result))
    yield from _bullets("To know", notes(result))
    cases = worse_cases(result)
    if cases:
        yield ""
        yield f"### Passed less often: {whole(len(cases))}"
        yield ""
        yield "One case alone proves nothing."
        yield ""
        yield from cases_markdown(cases[:MOST_CASES], len(cases))
    yield from _bullets("Next", next_steps(result, runs_dir))


def _bullets(title: str, sentences: Iterator[str]) -> Iterator[str]:
    lines = [f"- {as_text(sentence)}" for sentence in sentences]
    if lines:
        yield ""
        yield f"### {title}"
        yield ""
        yield from lines
