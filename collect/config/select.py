"""The cases a suite takes: those of its project, then those of its prompt lists (D-E4, D-E8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from collect.config.cases import CaseFile
from collect.config.project_files import problem_at, project_of
from collect.config.prompt_lists import load_prompt_lists
from collect.config.resolved import LoadedCase
from schemas.config.suite import CaseSelection, Suite
from schemas.errors import ConfigError, Problem, nearest
from schemas.io.yaml import KeyPath, Source

LISTS = ("include_case_ids", "exclude_case_ids")


def takes(selection: CaseSelection, case_id: str, tags: tuple[str, ...] | None) -> bool:
    """Return whether a selection takes a case; unknown tags count as selected."""
    if case_id in selection.include_case_ids:
        return True
    if tags is None:
        by_tag = bool(selection.include_tags) or not selection.include_case_ids
        return by_tag and case_id not in selection.exclude_case_ids
    if selection.include_tags:
        taken = not set(tags).isdisjoint(selection.include_tags)
    else:
        taken = not selection.include_case_ids
    excluded = case_id in selection.exclude_case_ids or not set(tags).isdisjoint(
        selection.exclude_tags
    )
    return taken and not excluded


def select_cases(
    files: Sequence[CaseFile], selection: CaseSelection, suite: Source
) -> tuple[list[CaseFile], list[str]]:
    """Return the selected cases, sorted by case_id, and warnings.

    Raises:
        ConfigError: a case that is selected is broken, or an id occurs twice.
    """
    chosen = [file for file in files if takes(selection, file.case_id, file.tags)]
    problems = [problem for file in chosen for problem in file.problems]
    problems += _twice(chosen)
    if problems:
        raise ConfigError(problems)
    both = sorted(set(selection.include_case_ids) & set(selection.exclude_case_ids))
    warnings = [
        f"{suite.path}: `{case_id}` is both included and excluded; it stays in" for case_id in both
    ]
    warnings += [warning for file in chosen for warning in file.warnings]
    return sorted(chosen, key=lambda file: file.case_id), warnings


def _twice(files: Iterable[CaseFile]) -> list[Problem]:
    first: dict[str, Path] = {}
    problems = []
    for file in files:
        other = first.setdefault(file.case_id, file.path)
        if other is not file.path:
            problems.append(Problem(file.path, f"case_id `{file.case_id}` is also that of {other}"))
    return problems


def unknown_ids(
    selection: CaseSelection,
    known: Mapping[str, object] | set[str],
    suite: Source,
    at: KeyPath = ("case_selection",),
) -> list[Problem]:
    """Return a problem for each id that no case has; `at` is where the selection stands."""
    problems = []
    for name in LISTS:
        for number, case_id in enumerate(getattr(selection, name)):
            if case_id not in known:
                key, near = (*at, name, number), _nearest(case_id, known)
                facts = {"found": f"`{case_id}`", "nearest": near}
                problems.append(problem_at(suite, key, "no case has this id", **facts))
    return problems


def _nearest(case_id: str, known: Mapping[str, object] | set[str]) -> str | None:
    """Return the id that is meant: without the prefix that every prompt of several lists had."""
    bare = case_id.partition("--")[2]
    return bare if bare in known else nearest(case_id, known)


def unknown_tags(
    selection: CaseSelection, tags: Iterable[tuple[str, ...] | None], suite: Source
) -> list[str]:
    """Return a warning for each tag that no case has, where the tags of all cases are known."""
    known: set[str] = set()
    for each in tags:
        if each is None:
            return []
        known.update(each)
    warnings = []
    for name in ("include_tags", "exclude_tags"):
        for number, tag in enumerate(getattr(selection, name)):
            if tag not in known:
                key = ("case_selection", name, number)
                facts = {"found": f"`{tag}`", "nearest": nearest(tag, known)}
                warnings.append(str(problem_at(suite, key, "no case has this tag", **facts)))
    return warnings


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

    Its project is not looked into (`find`) for a suite of lists alone.
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
    known = {*(file.case_id for file in found), *(prompt.case_id for prompt in prompts)}
    cases = [file.case for file in chosen if file.case is not None]
    cases += [prompt for prompt in prompts if takes(selection, prompt.case_id, prompt.tags)]
    problems += [*wrong, *unknown_ids(selection, known, source)]
    if len(known) < len(found) + len(prompts):
        problems += _clashes(cases, source)
    if not cases and not problems:
        where = project / "configs" / "cases" if project else "no project"
        what = f"the suite selects no case (looked in {where})"
        problems.append(problem_at(source, ("case_selection",), what))
    files = {str(file.path): file.sha256 or "" for file in chosen} | lists
    return SuiteCases(tuple(cases), files, tuple(problems), tuple(warnings))


def _clashes(cases: Sequence[LoadedCase], source: Source) -> list[Problem]:
    counts = Counter(case.case_id for case in cases)
    return [
        Problem(source.path, f"{count} cases have the case_id `{case_id}`", "prompt_lists")
        for case_id, count in counts.items()
        if count > 1
    ]
