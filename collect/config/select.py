"""Which cases a suite takes (D-E4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from collect.config.cases import CaseFile
from collect.config.resolved import LoadedCase
from schemas.config.suite import CaseSelection
from schemas.errors import ConfigError, Problem, nearest
from schemas.io.yaml import KeyPath, Source, dotted

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
                key = (*at, name, number)
                problems.append(
                    Problem(
                        suite.path,
                        "no case has this id",
                        dotted(key),
                        suite.line_of(key),
                        found=f"`{case_id}`",
                        nearest=_nearest(case_id, known),
                    )
                )
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
                what = "no case has this tag"
                line, near = suite.line_of(key), nearest(tag, known)
                found = f"`{tag}`"
                warnings.append(
                    str(Problem(suite.path, what, dotted(key), line, found=found, nearest=near))
                )
    return warnings


def select_prompts(prompts: Iterable[LoadedCase], selection: CaseSelection) -> list[LoadedCase]:
    """Return the prompts of lists that the suite takes, by the same rule as its cases."""
    return [prompt for prompt in prompts if takes(selection, prompt.case_id, prompt.tags)]
