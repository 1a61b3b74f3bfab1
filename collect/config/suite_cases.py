"""The cases a suite takes: those of its project, then those of its prompt lists (D-E4, D-E8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from collect.config.cases import CaseFile
from collect.config.project_files import project_of
from collect.config.prompt_lists import load_prompt_lists
from collect.config.resolved import LoadedCase
from collect.config.select import (
    select_cases,
    select_prompts,
    unknown_ids,
    unknown_tags,
)
from schemas.config.suite import Suite
from schemas.errors import ConfigError, Problem
from schemas.io.yaml import Source


@dataclass(frozen=True)
class SuiteCases:
    """What a suite takes, and everything that is wrong with it."""

    cases: tuple[LoadedCase, ...]
    files: dict[str, str]
    """sha256 of each file that was read, by path."""
    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]


def suite_cases(
    suite: Suite, source: Source, find: Callable[[Path], Sequence[CaseFile]]
) -> SuiteCases:
    """Return the cases of a suite.

    A suite that names prompt lists and has no `case_selection` consists of the lists alone.

    Args:
        suite: what the file says.
        source: the file.
        find: returns every case of a project; not called for a suite of lists alone.
    """
    project = project_of(source.path)
    selection = suite.case_selection
    lists_only = bool(suite.prompt_lists) and "case_selection" not in suite.model_fields_set
    found = find(project) if project is not None and not lists_only else ()
    chosen: Sequence[CaseFile] = ()
    problems: list[Problem] = []
    warnings: Sequence[str] = ()
    try:
        chosen, warnings = select_cases(found, selection, source)
    except ConfigError as exc:
        problems += exc.problems
    prompts, lists, wrong = load_prompt_lists(source.path.parent, suite.prompt_lists)
    tags = (*(file.tags for file in found), *(prompt.tags for prompt in prompts))
    warnings = [*warnings, *unknown_tags(selection, tags, source)]
    known = {file.case_id for file in found} | {prompt.case_id for prompt in prompts}
    cases = [file.case for file in chosen if file.case is not None]
    cases += select_prompts(prompts, selection)
    problems += [*wrong, *unknown_ids(selection, known, source), *_clashes(cases, source)]
    if not cases and not problems:
        where = project / "configs" / "cases" if project else "no project"
        what = f"the suite selects no case (looked in {where})"
        key = "case_selection"
        problems.append(Problem(source.path, what, key, source.line_of((key,))))
    files = {str(file.path): file.sha256 or "" for file in chosen} | lists
    return SuiteCases(tuple(cases), files, tuple(problems), tuple(warnings))


def _clashes(cases: Sequence[LoadedCase], source: Source) -> list[Problem]:
    counts = Counter(case.case_id for case in cases)
    return [
        Problem(source.path, f"{count} cases have the case_id `{case_id}`", "prompt_lists")
        for case_id, count in counts.items()
        if count > 1
    ]
