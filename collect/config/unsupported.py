"""What a run cannot use of a case, suite or run profile, said before anything runs.

* Fields that are accepted but not used by this version: without a warning they would seem to have
  an effect. What a run refuses is not among them.
* What a transport cannot send: named, never dropped in silence (D-E1).
* Parts of a request body that no `request_options` may hold. A trial is one question of one case to
  one model, and one answer in text: what would make it another number of answers, another question,
  another model or another bill is decided where plans, hashes and `--max-cost` see it. All else
  goes into the body as it stands: also `stream_options` (some servers refuse it, and null takes it
  out), `logprobs` (the text is the same), `store` (what the vendor keeps is the user's to say),
  `tools` (a call counts as one) and what says who serves a model or how it samples.
* Cases that will have no verdict, so that nobody looks for one, and repetitions at temperature 0,
  which repeat one answer and are no draws of their own, before a run pays for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from collect.checks.declarative import HINDRANCES
from collect.config.endpoints import PROVIDERS
from collect.config.project_files import warning_at
from collect.config.resolved import LoadedCase, ResolvedModel
from collect.config.runners import AGENT_BLOCKS, RUNNERS
from schemas.config.run_profile import RunProfile
from schemas.config.suite import Suite
from schemas.errors import Problem, counted, display_path
from schemas.io.yaml import KeyPath, Source, dotted, read_yaml
from schemas.run.config import EffectiveSetting

Unread = tuple[KeyPath, str]
"""Where it stands, and why nothing reads it."""

JUDGING = "is for a judge, and --evaluation-profile names none: nothing reads it"
ONLY_A_JUDGE = (
    "no verdict without a judge, and --evaluation-profile names none; `collect evaluate` asks one "
    "later about the same answers"
)
NO_AGENT = "is for {kinds} cases, and none is selected: nothing reads it"
OF_PROBE = "is for llm_probe cases, and all run with {kinds}: nothing reads it"
TURNS = "counts turns with tools, and no case offers any: nothing reads it"
NO_TOOLS = "is for tools, and the case offers none: nothing reads it"

NO_FILES = "is a file of a workspace, and a trial of the case has none: nothing reads it"
NO_RUNNER = "is for runners that carry out calls themselves: nothing reads it"

Settings = dict[str, EffectiveSetting]

SEVERAL = (
    "asks for several answers, and a trial is one: `run_repetitions` of the run profile asks again"
)
TEXT = "would replace or add to what is asked, which is the case's text"
MODEL = "names the model, and `requested_model` does that"
OTHERS = "lets other models answer under this one's name, at other prices"
STREAM = "is decided by the setting `stream` of the run profile"
LATER = "is answered before there is an answer"
EARLIER = "brings in an earlier conversation, and every trial begins anew"
NO_TEXT = "asks for more than text, which nothing reads, at other prices"
ECHO = "puts the prompt into the answer"
UNSEEN = "bills tokens that are in no answer, beyond what `--max-cost` can reserve"

RESERVED: Mapping[str, str] = {
    "n": SEVERAL,
    "best_of": SEVERAL,
    "n_cmpl": SEVERAL,  # llama.cpp
    "num_return_sequences": SEVERAL,  # Hugging Face
    "candidate_count": SEVERAL,  # Gemini
    "messages": TEXT,
    "input": TEXT,
    "prompt": TEXT,
    "system": TEXT,
    "suffix": TEXT,
    "model": MODEL,
    "models": OTHERS,
    "fallbacks": OTHERS,
    "stream": STREAM,
    "background": LATER,
    "conversation": EARLIER,
    "previous_response_id": EARLIER,
    "modalities": NO_TEXT,
    "audio": NO_TEXT,
    "echo": ECHO,
    "prediction": UNSEEN,
}
"""Names in the bodies of the chat, Responses and Messages APIs, and of servers that speak them."""

TOOL_OPTIONS = ("tools", "tool_choice", "functions", "function_call")
"""Request options in whose place a case with tools has its own, and leaves them out in the end."""

MAX_NAMED_CASES = 3
"""Cases named in a warning; of more, only how many there are."""

KEY = ("execution_policy", "run_repetitions")
ADVICE = (
    "set `temperature` above 0 (with a `seed`, `seed_per_repetition: true` too), "
    "or `run_repetitions: 1`"
)
"""Where a run profile repeats what it asks, and how not to repeat one answer."""


def of_case(case: LoadedCase) -> Iterator[Unread]:
    """Yield what a case holds beside what is asked and what gives its verdict."""
    probe, openclaw = case.context.llm_probe, case.context.openclaw
    offers_tools = RUNNERS[case.runner_type].offers_tools
    if "max_turns" in case.settings and not (probe.tools and offers_tools):
        yield ("runner", "max_turns"), NO_TOOLS
    for name in ("network", "tool_choice"):
        if name in probe.model_fields_set and not probe.tools:
            yield ("input", "context", "llm_probe", name), NO_TOOLS
    if probe.tools and not offers_tools:
        yield ("input", "context", "llm_probe", "tools"), NO_RUNNER
    if openclaw.expected_artifact is not None and not case.has_workspace:
        yield ("input", "context", "openclaw", "expected_artifact"), NO_FILES


def of_suite(suite: Suite, kinds: frozenset[str], *, has_tools: bool = True) -> Iterator[Unread]:
    """Yield what a suite holds beside its models and its selection.

    Its cases may offer tools: only then somebody counts turns. `kinds` are the runners of its
    cases.
    """
    for number, model in enumerate(suite.models):
        if not has_tools and "max_turns" in (model.model_extra or {}):
            yield ("models", number, "max_turns"), TURNS
        if "openclaw" not in kinds and {*model.primary_params} - {"reasoning"}:
            yield ("models", number, "primary_params"), NO_AGENT.format(kinds="openclaw")
    yield from _unread_blocks(suite, kinds)


def of_profile(
    profile: RunProfile, kinds: frozenset[str], *, has_tools: bool = True
) -> Iterator[Unread]:
    """Yield what a run profile holds beside the settings and the policy in force.

    Tools and kinds: as of a suite.
    """
    if kinds and all(RUNNERS[kind].is_agent for kind in kinds):
        for name in ("timeout_seconds", "stream"):
            if name in profile.runner_defaults.model_fields_set:
                said = OF_PROBE.format(kinds=" and ".join(sorted(kinds)))
                yield ("runner_defaults", name), said
    if not has_tools and "max_turns" in profile.runner_defaults.model_fields_set:
        yield ("runner_defaults", "max_turns"), TURNS
    for model_id, override in profile.model_overrides.items():
        if not has_tools and "max_turns" in override.model_fields_set:
            yield ("model_overrides", model_id, "max_turns"), TURNS
    yield from _unread_blocks(profile, kinds)


def _unread_blocks(written: Suite | RunProfile, kinds: frozenset[str]) -> Iterator[Unread]:
    """Yield what is said of agents that no case has."""
    for block in AGENT_BLOCKS:
        readers = [kind for kind in RUNNERS if RUNNERS[kind].block == block]
        if getattr(written, block) is not None and not kinds.intersection(readers):
            yield (block,), NO_AGENT.format(kinds=" and ".join(readers))


def warnings_at(source: Source, unread: Iterable[Unread]) -> list[str]:
    """Return a warning of each, with its file and line."""
    return [warning_at(source, key, why) for key, why in unread]


def words_of(unread: Sequence[Unread]) -> Iterator[str]:
    """Yield what is said of a case among others, without the numbers that differ among them."""
    for why in dict.fromkeys(why for _, why in unread):
        keys = dict.fromkeys(
            dotted(tuple(part for part in key if isinstance(part, str)))
            for key, each in unread
            if each == why
        )
        many = len(keys) > 1
        said = why.replace("is for", "are for").replace("reads it", "reads them") if many else why
        yield f"{' and '.join(f'`{key}`' for key in keys)} {said}"


def split(provider: str, settings: Mapping[str, EffectiveSetting]) -> tuple[Settings, Settings]:
    """Return the settings that a transport applies, and those that it cannot.

    Settings that nobody wrote are the transport's own business and in neither when it has none.
    """
    applies = PROVIDERS[provider].applies
    sent = {name: one for name, one in settings.items() if name in applies}
    left = {
        name: one
        for name, one in settings.items()
        if name not in applies and one.origin != "default" and one.value is not None
    }
    return sent, left


def unsendable(models: Sequence[ResolvedModel], cases: Sequence[LoadedCase]) -> list[Problem]:
    """Return a problem for each case that holds what a model's transport cannot send."""
    providers = sorted({model.provider for model in models})
    strict = [
        name
        for name in providers
        if not (PROVIDERS[name].takes_names and PROVIDERS[name].takes_tools)
    ]
    problems = [
        problem
        for case in cases
        if case.settings or strict
        for provider in providers
        for problem in _of_case(case, provider)
    ]
    return [*problems, *_two_offers(models, cases)]


def unlimited(models: Iterable[ResolvedModel], cases: Sequence[LoadedCase]) -> Iterator[Problem]:
    """Yield a problem of each model that has to be told how long an answer may be, and is not.

    Only a run profile settles that, so a suite alone is not held against it.
    """
    asked = [case for case in cases if RUNNERS[case.runner_type].asks_once]
    for model in models:
        transport = PROVIDERS[model.provider]
        if not transport.needs_limit or any(
            map(model.request_options.__contains__, transport.limits)
        ):
            continue
        case = next((one for one in asked if model.setting("max_tokens", one) is None), None)
        if case is not None:
            what = (
                f"`{model.provider}` refuses a request without `max_tokens`, and case "
                f"`{case.case_id}` has none for model `{model.model_id}`"
            )
            advice = "write `max_tokens` under `runner_defaults` of the run profile"
            yield Problem(None, what, advice=advice)


def _two_offers(models: Iterable[ResolvedModel], cases: Iterable[LoadedCase]) -> Iterator[Problem]:
    """Yield a problem of each model whose request options stand in the way of a case's tools."""
    case = next((case for case in cases if case.context.llm_probe.tools), None)
    if case is None:
        return
    where = None if case.folder is None else case.folder / "test.yaml"
    for model in models:
        for option in filter(model.request_options.__contains__, TOOL_OPTIONS):
            what = (
                f"case `{case.case_id}` offers tools of its own, and `request_options.{option}` of "
                f"model `{model.model_id}` would take their place"
            )
            advice = "take the option, or the case, out of the suite"
            yield Problem(where, what, "input.context.llm_probe.tools", advice=advice)


def _of_case(case: LoadedCase, provider: str) -> Iterator[Problem]:
    transport = PROVIDERS[provider]
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
    if RUNNERS[case.runner_type].is_agent and not transport.takes_tools:
        what = f"case `{case.case_id}`: an agent cannot ask its model through `{provider}`"
        able = ", ".join(name for name in PROVIDERS if PROVIDERS[name].takes_tools)
        yield Problem(where, what, "runner.type", allowed=able)
    if case.context.llm_probe.tools and not transport.takes_tools:
        what = f"case `{case.case_id}`: `{provider}` cannot offer tools to a model"
        able = ", ".join(name for name in PROVIDERS if PROVIDERS[name].takes_tools)
        advice = "leave the case out of this model's suite"
        key = "input.context.llm_probe.tools"
        yield Problem(where, what, key, allowed=able, advice=advice)
    roles = [message["role"] for message in case.messages]
    is_late = "system" in roles[len(list(takewhile("system".__eq__, roles))) :]
    if is_late and RUNNERS[case.runner_type].asks_once and not transport.takes_late_system:
        what = f"`{provider}` takes system messages at the beginning alone"
        yield _of_messages(where, case, what)
    if not transport.takes_dialogue and any(
        message["role"] not in {"system", "user"} for message in case.messages
    ):
        what = f"`{provider}` takes a system prompt and what the user says, no earlier answers"
        yield _of_messages(where, case, what)


def _of_messages(where: Path | None, case: LoadedCase, what: str) -> Problem:
    advice = "leave the case out of this model's suite"
    return Problem(where, f"case `{case.case_id}`: {what}", "input.messages", advice=advice)


def reserved(names: Iterable[str]) -> dict[str, str]:
    """Return those of some request options that are none, each with the reason."""
    return {name: RESERVED[name] for name in names if name in RESERVED}


def warnings_of(cases: Sequence[LoadedCase], *, has_judges: bool) -> list[str]:
    """Return a warning for each reason why cases will have no verdict, or one of a part of them."""
    texts: dict[str, list[str]] = {}
    for case in cases:
        for text in _reasons(case, has_judges=has_judges):
            texts.setdefault(text, []).append(case.case_id)
    return [f"{_named(ids)}: {text}" for text, ids in texts.items()]


def _reasons(case: LoadedCase, *, has_judges: bool) -> Iterable[str]:
    if case.unavailable is not None:
        yield f"skipped, no model is asked: {case.unavailable}"
        return
    for check_id, reason in case.unevaluable:
        yield f"no verdict, since check `{check_id}` cannot be made: {HINDRANCES[reason]}"
    unread = [*of_case(case)]
    for_judge = [name for name in ("expectations", "rubric") if getattr(case, name) is not None]
    if for_judge and not has_judges:
        if case.validator is not None or case.checks:
            unread += [((name,), JUDGING) for name in for_judge]
        else:
            yield ONLY_A_JUDGE
    yield from words_of(unread)


def _named(case_ids: Sequence[str]) -> str:
    first = ", ".join(f"`{case_id}`" for case_id in case_ids[:MAX_NAMED_CASES])
    more = len(case_ids) - MAX_NAMED_CASES
    return ("case " if len(case_ids) == 1 else "cases ") + first + f" and {more} more" * (more > 0)


def greedy_profile(profile: RunProfile, source: Source) -> list[str]:
    """Return a warning where a run profile repeats what it asks at temperature 0."""
    names = ["runner_defaults"] if profile.runner_defaults.temperature == 0 else []
    names += [
        f"model_overrides.{model_id}"
        for model_id, override in profile.model_overrides.items()
        if override.temperature == 0
    ]
    return _warning(profile, source, [f"`{name}`" for name in names])


def greedy_models(
    models: Iterable[ResolvedModel], profile: RunProfile, source: Source
) -> list[str]:
    """Return a warning where models are asked repeatedly at temperature 0, whoever set it."""
    names = [
        f"model `{model.model_id}`"
        for model in models
        if (temperature := model.settings.get("temperature")) and temperature.value == 0
    ]
    return _warning(profile, source, names)


def _warning(profile: RunProfile, source: Source, names: list[str]) -> list[str]:
    """No seed changes an answer at temperature 0, so none is asked for."""
    repetitions = profile.execution_policy.run_repetitions
    if not names or repetitions == 1:
        return []
    where = f"{display_path(source.path)}:{source.line_of(KEY)}"
    return [
        f"{where}: {counted(repetitions, 'repetition')} at temperature 0 ({', '.join(names)}) "
        f"repeat one answer and are no independent draws; {ADVICE}"
    ]
