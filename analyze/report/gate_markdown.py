"""A gate as Markdown, such as the step summary of a build server shows.

Names from outside are text and nothing else: no links, no markup, no end of a cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from analyze.gate.document import (
    MOST_CASES,
    OUTCOMES,
    asked,
    by_need,
    has_own_baselines,
    headline,
    held_against,
    metric_name,
    next_steps,
    not_tested,
    notes,
    worse_cases,
)
from analyze.render.numbers import whole
from analyze.report.comparison_markdown import cases_markdown, markdown_table
from analyze.report.open_shift_words import open_sentences
from analyze.summary.summary_table import as_text
from schemas.output.gate import GateResult


def gate_markdown(result: GateResult, runs_dir: Path | None = None) -> str:
    """Return a gate as Markdown: verdict first, then why, then where to look.

    Args:
        result: what the gate says.
        runs_dir: where the runs are, for the commands that go on from here.
    """
    return "\n".join(_lines(result, runs_dir)) + "\n"


def _lines(result: GateResult, runs_dir: Path | None) -> Iterator[str]:
    yield f"## {as_text(headline(result)).capitalize()}"
    yield ""
    for name, value in asked(result):
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
