"""What a transport cannot send is said before anything runs, never dropped in silence (D-E1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from collect.config.endpoints import TRANSPORT
from collect.config.resolved import LoadedCase, ResolvedModel
from schemas.errors import Problem
from schemas.io.yaml import read_yaml
from schemas.run.config import EffectiveSetting

Settings = dict[str, EffectiveSetting]


def split(provider: str, settings: Mapping[str, EffectiveSetting]) -> tuple[Settings, Settings]:
    """Return the settings that a transport applies, and those that it cannot.

    Settings that nobody wrote are the transport's own business and in neither when it has none.
    """
    applies = TRANSPORT[provider].applies
    sent = {name: one for name, one in settings.items() if name in applies}
    left = {
        name: one
        for name, one in settings.items()
        if name not in applies and one.origin != "default" and one.value is not None
    }
    return sent, left


def unsendable(models: Iterable[ResolvedModel], cases: Iterable[LoadedCase]) -> list[Problem]:
    """Return a problem for each case that holds what a model's transport cannot send."""
    providers = sorted({model.provider for model in models})
    strict = [name for name in providers if not TRANSPORT[name].takes_names]
    return [
        problem
        for case in cases
        if case.settings or strict
        for provider in providers
        for problem in _of_case(case, provider)
    ]


def _of_case(case: LoadedCase, provider: str) -> Iterator[Problem]:
    transport = TRANSPORT[provider]
    where = None if case.folder is None else case.folder / "test.yaml"
    allowed = ", ".join(sorted(transport.applies))
    for name, value in case.settings.items():
        if name not in transport.applies and value is not None:
            what = f"`{provider}` cannot send it"
            line = None if where is None else read_yaml(where).line_of(("runner", name))
            found = f"`{value}`"
            yield Problem(where, what, f"runner.{name}", line, found=found, allowed=allowed)
    if not transport.takes_names and any(message.get("name") for message in case.messages):
        yield _of_messages(where, case, f"`{provider}` cannot send the name of a message")
    if not transport.takes_dialogue and any(
        message["role"] not in {"system", "user"} for message in case.messages
    ):
        what = f"`{provider}` takes a system prompt and what the user says, no earlier answers"
        yield _of_messages(where, case, what)


def _of_messages(where: Path | None, case: LoadedCase, what: str) -> Problem:
    advice = "leave the case out of this model's suite"
    return Problem(where, f"case `{case.case_id}`: {what}", "input.messages", advice=advice)
