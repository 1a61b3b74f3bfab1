"""What a file may hold and nothing in this version reads: it loads, and is named.

A field that is taken in without a word looks as if it acted. What is refused by a run is not here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from collect.config.resolved import LoadedCase
from schemas.config.run_profile import RunProfile
from schemas.config.suite import Suite
from schemas.io.yaml import KeyPath, Source, dotted

Unread = tuple[KeyPath, str]
"""Where it stands, and why nothing reads it."""

NOT_BUILT = "not part of this version"
"""What loads whole and only a run refuses; here it is said, and no mistake."""

JUDGING = f"is for a judge, and judging is {NOT_BUILT}: nothing reads it"
RUNNER = f"is for the openclaw runner, which is {NOT_BUILT}: nothing reads it"
TURNS = f"counts turns of tools, which are {NOT_BUILT}: nothing reads it"
NO_TOOLS = "is for tools, and the case offers none: nothing reads it"


def of_case(case: LoadedCase) -> Iterator[Unread]:
    """Yield what a case holds beside what is asked and what gives its verdict."""
    if "max_turns" in case.settings:
        yield ("runner", "max_turns"), TURNS
    probe, openclaw = case.context.llm_probe, case.context.openclaw
    if "network" in probe.model_fields_set and not probe.tools:
        yield ("input", "context", "llm_probe", "network"), NO_TOOLS
    if openclaw.expected_artifact is not None and case.runner_type != "openclaw":
        yield ("input", "context", "openclaw", "expected_artifact"), RUNNER
    for number, check in enumerate(case.checks):
        if check.dimensions:
            yield ("deterministic_checks", number, "dimensions"), JUDGING
    for name in ("expectations", "rubric"):
        if getattr(case, name) is not None:
            yield (name,), JUDGING


def of_suite(suite: Suite) -> Iterator[Unread]:
    """Yield what a suite holds beside its models and its selection."""
    for number, model in enumerate(suite.models):
        if "max_turns" in (model.model_extra or {}):
            yield ("models", number, "max_turns"), TURNS
    if suite.openclaw is not None:
        yield ("openclaw",), RUNNER


def of_profile(profile: RunProfile) -> Iterator[Unread]:
    """Yield what a run profile holds beside the settings and the policy in force."""
    if "max_turns" in profile.runner_defaults.model_fields_set:
        yield ("runner_defaults", "max_turns"), TURNS
    for model_id, override in profile.model_overrides.items():
        if "max_turns" in override.model_fields_set:
            yield ("model_overrides", model_id, "max_turns"), TURNS
    if profile.openclaw is not None:
        yield ("openclaw",), RUNNER


def warnings_at(source: Source, unread: Iterable[Unread]) -> list[str]:
    """Return a warning of each, with its file and line."""
    return [f"{source.path}:{source.line_of(key)}: `{dotted(key)}` {why}" for key, why in unread]


def words_of(unread: Sequence[Unread]) -> Iterator[str]:
    """Yield what is said of a case among others, where many may hold the same."""
    for why in dict.fromkeys(why for _, why in unread):
        keys = dict.fromkeys(dotted(_general(key)) for key, each in unread if each == why)
        many = len(keys) > 1
        said = why.replace("is for", "are for").replace("reads it", "reads them") if many else why
        yield f"{' and '.join(f'`{key}`' for key in keys)} {said}"


def _general(key: KeyPath) -> KeyPath:
    """Return a key without the numbers that differ from case to case."""
    return tuple(part for part in key if isinstance(part, str))
