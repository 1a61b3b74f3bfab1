"""Tables of the run itself, and of what stands behind each model.

The run: cases and models, runs before it, failures, the files it read. Behind a model: what it
took, and exactly which one answered.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import groupby

from analyze.query.thresholds import HASH_SHOWN
from analyze.render.numbers import duration, limits_of, moment, pair, percent, usd, whole
from analyze.report.html.table import Cell, Column, Mark, Place, Table, number
from analyze.report.html.tables_models import MODEL, asked_as, model_cell
from analyze.summary.summary_table import disk_use, memory_used, store_size
from schemas.errors import counted
from schemas.output.report import (
    FailureCount,
    HistoryPoint,
    Matrix,
    MatrixCell,
    ModelProvenance,
    Provenance,
    Term,
    TrialMark,
)
from schemas.output.summary import GroupSummary, RunSummary
from schemas.run.model_names import id_of

MARKS: dict[TrialMark, tuple[str, str]] = {
    "passed": ("✓", "passed"),
    "failed": ("✗", "did not pass"),
    "no_verdict": ("–", "no verdict"),
    "missing": ("·", "no result"),
}
"""Signs that tell the ways a trial went without colour, and their words."""

LOOKS: dict[TrialMark, str] = {"passed": "b", "failed": "i", "no_verdict": "u", "missing": "u"}
"""Elements that stand for them: the shortest there are, since a matrix holds thousands."""

MOST_RUNS = 10
"""Runs in the table of the history; the chart shows all."""

MOST_FAILURES = 100
MOST_FILES = 20


def matrix(found: Matrix, run_id: str, anchors: dict[Place, str], command: str) -> Table:
    """Return cases and models with a sign for each repetition, the hardest case first."""
    models = list(dict.fromkeys(cell.model_id for cell in found.cells))
    of_case: defaultdict[str, dict[str, MatrixCell]] = defaultdict(dict)
    for cell in found.cells:
        of_case[cell.case_id][cell.model_id] = cell
    columns = [
        Column("case", "case_id"),
        Column("all %", "passed_rate", is_number=True),
        *(Column(model, f"model:{id_of(model)}", is_number=True) for model in models),
    ]
    rows = []
    for case_id, cells in of_case.items():
        n_passed = sum(cell.n_passed for cell in cells.values())
        n_scored = sum(cell.n_scored for cell in cells.values())
        rows.append(
            [
                Cell(case_id),
                number(percent(n_passed / n_scored if n_scored else None)),
                *(_outcomes(cells.get(model), run_id, anchors) for model in models),
            ]
        )
    more = f"{whole(found.n_shown)} of {whole(found.n_cases)} cases: the hardest."
    return Table(
        "matrix",
        "Cases and models",
        columns,
        rows,
        more if found.n_shown < found.n_cases else "",
        command,
    )


def _outcomes(cell: MatrixCell | None, run_id: str, anchors: dict[Place, str]) -> Cell:
    if cell is None:
        return Cell("")
    marks: list[Mark] = []
    repetition = 0
    for mark, same in groupby(cell.marks):
        sign, words = MARKS[mark]
        plain = ""
        for _ in same:
            repetition += 1
            anchor = anchors.get((run_id, cell.model_id, cell.case_id, repetition))
            if anchor is None:
                plain += sign
                continue
            if plain:
                marks.append(Mark(LOOKS[mark], plain))
                plain = ""
            told = f"repetition {repetition} of {cell.case_id} by {cell.model_id}: {words}"
            marks.append(Mark(LOOKS[mark], sign, f"#{anchor}", told))
        if plain:
            marks.append(Mark(LOOKS[mark], plain))
    if len(cell.marks) < cell.n_planned:
        marks.append(Mark("u", f"+{whole(cell.n_planned - len(cell.marks))}"))
    rate = cell.passed_rate
    told = f"{whole(cell.n_passed)} of {whole(cell.n_scored)}"
    return Cell(told, "" if rate is None else f"{rate:.3g}", marks=tuple(marks))


def history(points: tuple[HistoryPoint, ...], command: str) -> Table:
    """Return the newest runs of the suite, this one among them, newest first."""
    models = list(dict.fromkeys(point.model_id for point in points))
    of_run: defaultdict[str, dict[str, HistoryPoint]] = defaultdict(dict)
    for point in points:
        of_run[point.run_id][point.model_id] = point
    runs = list(of_run)
    newest = set(runs[-MOST_RUNS:])
    columns = (
        Column("run", "run_id"),
        Column("started (UTC)", "started_at_ms"),
        *(Column(f"{model} %", f"model:{id_of(model)}", is_number=True) for model in models),
    )
    rows = []
    for run_id in reversed(runs):
        found = of_run[run_id]
        one = next(iter(found.values()))
        if run_id in newest or one.is_this_run:
            cells = [_point(found.get(model)) for model in models]
            below = "this run" if one.is_this_run else ""
            rows.append([Cell(run_id, below=below), Cell(moment(one.started_at_ms)), *cells])
    more = f"The newest {MOST_RUNS} of {whole(len(runs))} runs in the chart."
    return Table(
        "history",
        "Runs of the suite",
        columns,
        rows,
        more if len(runs) > MOST_RUNS else "",
        command,
    )


def _point(point: HistoryPoint | None) -> Cell:
    if point is None:
        return Cell("")
    rate = percent(point.passed_rate)
    return Cell(rate, rate, "n", below=limits_of(point.passed_rate, point))


def failures(counts: tuple[FailureCount, ...], command: str) -> Table:
    """Return how trials ended without a success, by whose fault it was."""
    columns = (
        Column("failure", "failure_type"),
        Column("model", "model_id"),
        Column("cause", "cause"),
        Column("counts against the model", "counts_against_model"),
        Column("trials", "n_trials", is_number=True),
    )
    rows = [
        [
            Cell(one.failure_type),
            Cell(one.model_id),
            Cell(one.cause or "unknown"),
            Cell("yes" if one.counts_against_model else "no"),
            number(whole(one.n_trials), one.n_trials),
        ]
        for one in counts[:MOST_FAILURES]
    ]
    n_more = len(counts) - MOST_FAILURES
    more = f"{counted(n_more, 'more row')}." if n_more > 0 else ""
    return Table("failures", "Failures by cause", columns, rows, more, command)


def glossary(terms: tuple[Term, ...]) -> Table:
    """Return what every number of the report means."""
    columns = (
        Column("number", "name"),
        Column("meaning", "meaning"),
        Column("formula", "formula"),
        Column("source", "source"),
    )
    rows = [
        [
            Cell(term.name, below=term.field or ""),
            Cell(term.meaning.replace("`", "")),
            Cell(term.formula or "", look="code"),
            Cell(term.source or ""),
        ]
        for term in terms
    ]
    return Table("glossary", "What every number means", columns, rows)


def config_files(provenance: Provenance) -> Table | None:
    """Return the files that were read, with the beginning of their sha256; None without one."""
    if not provenance.config_files:
        return None
    columns = (Column("file", "path"), Column("sha256", "sha256"))
    rows = [
        [Cell(path), Cell(digest[:HASH_SHOWN], look="code")]
        for path, digest in list(provenance.config_files.items())[:MOST_FILES]
    ]
    n_more = len(provenance.config_files) - MOST_FILES
    more = f"{counted(n_more, 'more file')}, in config.json." if n_more > 0 else ""
    return Table("files", "Files that were read", columns, rows, more)


def resources(summary: RunSummary) -> Table:
    """Return what each model took: time, tokens, money, memory, disk."""
    columns = (
        MODEL,
        Column("wall clock", "wall_clock_ms", is_number=True),
        Column("input tokens", "tokens.input", is_number=True),
        Column("output tokens", "tokens.output", is_number=True),
        Column("reasoning tokens", "tokens.reasoning", is_number=True),
        Column("cached tokens", "tokens.cached_input", is_number=True),
        Column("output tokens a second", "output_tokens_per_s", is_number=True),
        Column("USD", "cost_usd", is_number=True),
        Column("memory used", "resources.mem_used"),
        Column("disk used", "resources.disk_root.use_pct"),
        Column("model store", "resources.ollama_store_du"),
    )
    kept = _filled(columns, [_resources(group) for group in summary.models])
    return Table("resources", "What each model used", *kept)


def _filled(
    columns: tuple[Column, ...], rows: list[list[Cell]]
) -> tuple[list[Column], list[list[Cell]]]:
    """Return a table without the columns in which no row has anything."""
    filled = Counter(n for row in rows for n, cell in enumerate(row) if cell.text)
    kept = [n for n in range(len(columns)) if filled[n]]
    return [columns[n] for n in kept], [[row[n] for n in kept] for row in rows]


def _resources(group: GroupSummary) -> list[Cell]:
    tokens = group.tokens
    before, after = group.resources_before, group.resources_after
    trials = counted(group.n_total, "trial")
    paid = f"known of {whole(group.n_cost_known)} of {trials}"
    of = f"known of {whole(tokens.n_known)} of {trials}"
    return [
        model_cell(group),
        number(duration(group.wall_clock_ms), group.wall_clock_ms),
        number(whole(tokens.input), tokens.input, note=of),
        number(whole(tokens.output), tokens.output, note=of),
        number(whole(tokens.reasoning), tokens.reasoning),
        number(whole(tokens.cached_input), tokens.cached_input),
        number("" if (speed := group.output_tokens_per_s) is None else f"{speed:.1f}"),
        number(usd(group.cost_usd), group.cost_usd, note=paid),
        Cell(pair(memory_used(before), memory_used(after))),
        Cell(pair(disk_use(before), disk_use(after))),
        Cell(pair(store_size(before), store_size(after))),
    ]


def served(models: tuple[ModelProvenance, ...]) -> Table | None:
    """Return exactly which model answered; None where nothing is known of any."""
    if not models:
        return None
    columns = (
        MODEL,
        Column("served as", "served_models"),
        Column("upstream", "served_providers"),
        Column("routing", "routing"),
        Column("endpoint", "base_url"),
        Column("build", "model_build"),
        Column("harness", "harness_version"),
        Column("settings that are not defaults", "settings"),
    )
    kept = _filled(columns, [_served(one) for one in models])
    return Table("served", "Which model answered", *kept)


def _served(one: ModelProvenance) -> list[Cell]:
    build = one.model_build or ""
    return [
        Cell(one.model_id, below=asked_as(one)),
        Cell(", ".join(one.served_models)),
        Cell(", ".join(one.served_providers)),
        Cell(one.routing or ""),
        Cell(one.base_url or "", look="code"),
        Cell(build[:HASH_SHOWN], look="code", note=build),
        Cell(one.harness_version or ""),
        Cell(", ".join(f"{name}={value}" for name, value in one.settings.items()), look="code"),
    ]
