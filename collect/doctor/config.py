"""Checks of what is configured: keys, suites, judges, and the models that they name.

Is each key there, and plausibly a key? Values are never shown. Do the suites load, and would
`collect run` take every case of them? Does the server have the model that is asked for, and does
it do what the settings say?
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from collect.config import ResolvedModel
from collect.config.endpoints import OAUTH_TOKEN, PROVIDERS, host_of, key_of
from collect.config.models import PINNED, ROUTING_OPTIONS
from collect.doctor.context import (
    Details,
    Finding,
    InspectedProfile,
    InspectedSuite,
    Scene,
    and_more,
)
from collect.doctor.probe import KNOWS_ITS_NAMES, Address, Visit, name_of
from schemas.errors import ConfigError, Problem, counted, display_path, nearest_few
from schemas.redact import key_names

BEGINS = {
    "OPENROUTER_API_KEY": ("sk-or-", "OpenRouter"),
    "ANTHROPIC_API_KEY": ("sk-ant-", "Anthropic"),
    "OPENAI_API_KEY": ("sk-", "OpenAI"),
}
"""How the keys of a service begin, and its name; the first that fits is the service's."""

MIN_KEY_CHARS = 12
"""Keys are longer; shorter values are words that stand in for one."""

MAX_NEAR_NAMES = 3
MIN_SIMILARITY = 0.5
MAX_COMPARED_NAMES = 5_000
"""Names compared letter by letter; more take seconds, and no real list is as long."""

CLI_NAMES = frozenset({"default", "sonnet", "opus", "haiku", "opusplan"})
"""Names that the Claude Code CLI turns into listed ones itself."""

DATED = re.compile(r"-\d{8}$")
"""What follows a name of Anthropic's that means its newest build."""

NO_PARAMETERS = frozenset({*ROUTING_OPTIONS, "user", "usage", "stream_options", "metadata"})
"""Request options that are not the model's to support."""


async def check_keys(scene: Scene) -> list[Finding]:
    """Return a finding for each variable that a model names, or for those that are set."""
    wanted: dict[str, list[tuple[str, ResolvedModel]]] = {}
    for name, model in scene.models():
        if model.api_key_env is not None:
            wanted.setdefault(model.api_key_env, []).append((name, model))
    if wanted:
        return [_key(variable, users) for variable, users in wanted.items()]
    if scene.models():
        return [Finding("–", "ok", "no model needs a key")]
    names = key_names()
    text = f"set: {', '.join(names)}" if names else "no variable that holds a key is set"
    return [Finding("environment", "ok" if names else "skip", text, details={"names": list(names)})]


def _key(variable: str, users: list[tuple[str, ResolvedModel]]) -> Finding:
    model = users[0][1]
    hosts = sorted({host_of(one.base_url) for _, one in users})
    who = and_more([name for name, _ in users])
    goes = f"sent to {and_more(hosts)} ({who})"
    details: Details = {"hosts": list(hosts), "models": [name for name, _ in users]}
    try:
        key = key_of(model)
    except ConfigError:
        text = "is set, but holds characters that no key has"
        return Finding(variable, "fail", text, _set_it(variable), details=details)
    if not key:
        if not any(one.key_required for _, one in users):
            text = f"not set; {who} asked on this machine may do without"
            return Finding(variable, "ok", text, details=details)
        advice = _set_it(variable)
        if variable == "ANTHROPIC_API_KEY" and os.environ.get(OAUTH_TOKEN):
            advice = f"{OAUTH_TOKEN} is set: name it with `api_key_env`, or {advice}"
        text = f"is not set, and {who} cannot be asked without it"
        return Finding(variable, "fail", text, advice, details=details)
    own = any(
        variable == PROVIDERS[one.provider].api_key_env and not one.is_loopback for _, one in users
    )
    if odd := _oddity(variable if own else "", key):
        return Finding(variable, "warn", f"set, but {odd}", _set_it(variable), details=details)
    return Finding(variable, "ok", f"set; {goes}", details=details)


def _set_it(variable: str) -> str:
    return f"read -rs {variable} && export {variable}   (paste the key; it stays out of history)"


def _oddity(variable: str, key: str) -> str | None:
    """Return what is strange about a key that goes to the service its variable is named for."""
    if key[0] in "\"'`" or key[-1] in "\"'`":
        return "in quotes, which are sent as a part of it"
    if key.startswith("$") or key.lower().startswith(("your", "<", "xxx", "changeme")):
        return "looks like a text that stands in for a key"
    if variable in BEGINS:
        begins, service = BEGINS[variable]
        if not key.startswith(begins):
            return f"does not begin with `{begins}` as the keys of {service} do"
        other = next(name for start, name in BEGINS.values() if key.startswith(start))
        if other != service:
            return f"looks like a key of {other}"
        if len(key) < MIN_KEY_CHARS:
            return "shorter than any key"
    return None


async def check_suites(scene: Scene) -> list[Finding]:
    """Return a finding for each suite."""
    if not scene.suites:
        where = "this project has no suite" if scene.has_project else "no project here or above"
        return [Finding("–", "skip", f"{where}: only the machine was looked at")]
    return [_suite(suite) for suite in scene.suites]


def _suite(suite: InspectedSuite) -> Finding:
    if suite.problems:
        advice = f"collect validate {shlex.quote(display_path(suite.path))} shows every problem"
        return Finding(suite.name, "fail", f"does not load: {_first(suite.problems)}", advice)
    details: Details = {"models": len(suite.models), "cases": len(suite.cases)}
    if suite.refused:
        text = f"`collect run` refuses it: {_first(suite.refused)}"
        advice = "leave such cases out with `exclude_case_ids` or `exclude_tags`"
        return Finding(suite.name, "fail", text, advice, details)
    text = f"{counted(len(suite.models), 'model')}, {counted(len(suite.cases), 'case')}"
    return Finding(suite.name, "ok", text, details=details)


async def check_judges(scene: Scene) -> list[Finding]:
    """Return a finding for each evaluation profile; their judges are looked at as models are."""
    return [_profile(profile) for profile in scene.profiles]


def _profile(profile: InspectedProfile) -> Finding:
    if profile.problems:
        advice = f"collect validate {shlex.quote(display_path(profile.path))} shows every problem"
        return Finding(profile.name, "fail", f"does not load: {_first(profile.problems)}", advice)
    threshold = profile.pass_threshold
    decides = "decides no verdict" if threshold is None else f"passes from {threshold:g}"
    details: Details = {"judges": len(profile.judges), "pass_threshold": threshold}
    if not profile.judges:
        return Finding(profile.name, "ok", "has no judges", details=details)
    text = f"{counted(len(profile.judges), 'judge')}, {decides}"
    return Finding(profile.name, "ok", text, details=details)


def _first(problems: tuple[Problem, ...]) -> str:
    more = len(problems) - 1
    return f"{problems[0]}" + f" (and {more} more)" * bool(more)


async def check_models(scene: Scene) -> list[Finding]:
    """Return findings for each model of the suites."""
    checks: list[Finding] = []
    for name, model in scene.models():
        if model.embedded is not None:
            file = model.embedded.model_file
            of = "the packaged weights" if file is None else display_path(Path(file))
            text = f"`{model.model}` is served by the run, from {of}"
            checks.append(Finding(name, "ok", text, details={"requested": model.model}))
            continue
        visit = await scene.visit_of(Address.of(model))
        checks.append(_name(name, model, visit))
        if model.routing == "unpinned":
            text = "OpenRouter chooses who serves each request: scores of several are mixed"
            checks.append(Finding(name, "warn", text, PINNED))
        if ignored := _ignored(model, visit):
            text = f"does not support {', '.join(ignored)}: sent and ignored"
            advice = "leave them out, or compare only with models that ignore them too"
            checks.append(Finding(name, "warn", text, advice, details={"ignored": list(ignored)}))
    return checks or [Finding("–", "skip", "no suite names a model")]


def _name(name: str, model: ResolvedModel, visit: Visit) -> Finding:
    wanted, listed = model.model, visit.names
    asked = f"`{wanted}`"
    if visit.entries is None:
        answered = visit.listing.status is not None
        why = "no list of models came back" if answered else "its server does not answer"
        return Finding(name, "skip", f"{asked} was not looked for: {why}")
    near = near_names(wanted, listed)
    details: Details = {"requested": wanted, "near": list(near), "listed": len(listed)}
    if (as_listed := _on_list(wanted, visit)) is not None:
        tail = "" if as_listed == wanted else f", as `{as_listed}`"
        return Finding(name, "ok", f"{asked} is there{tail}", details=details)
    if visit.kind == "llama.cpp" and len(listed) == 1:
        text = f"{asked} is not the server's name, and it answers every name with `{listed[0]}`"
        advice = f"write `requested_model: {listed[0]}`, so that records say what was asked"
        return Finding(name, "warn", text, advice, details=details)
    if visit.address.is_anthropic and wanted in CLI_NAMES:
        text = f"{asked} is a name the CLI chooses a model by; which one changes over time"
        advice = "write a dated name, such as " + (f"`{listed[0]}`" if listed else "the CLI's own")
        return Finding(name, "warn", text, advice, details=details)
    refuses = visit.kind in KNOWS_ITS_NAMES or (visit.kind == "llama.cpp" and bool(listed))
    text = f"{asked} is not among the server's {counted(len(listed), 'model')}"
    return Finding(
        name, "fail" if refuses else "warn", text, _advice(wanted, near, visit), details=details
    )


def _on_list(wanted: str, visit: Visit) -> str | None:
    """Return the listed name that a request for `wanted` reaches."""
    listed = frozenset(visit.names)
    if wanted in listed:
        return wanted
    if visit.kind == "Ollama":
        for other in (f"{wanted}:latest", wanted.removesuffix(":latest")):
            if other in listed:
                return other
    if visit.kind == "OpenRouter" and (base := wanted.rpartition(":")[0]) in listed:
        return base  # `:floor` and other variants are not listed
    if visit.kind == "llama.cpp":
        for entry in visit.entries or ():
            aliases = entry.get("aliases")
            if isinstance(aliases, list) and wanted in aliases:
                return name_of(entry)
    if visit.address.is_anthropic:
        dated = [one for one in listed if DATED.sub("", one) == wanted.removesuffix("-latest")]
        return max(dated, default=None)
    return None


def near_names(wanted: str, listed: Iterable[str]) -> tuple[str, ...]:
    """Return the listed names most like the one that was asked for, the nearest first.

    A name whose parts are all there comes first: `gpt-oss` means `openai/gpt-oss-20b`.
    """
    by_lower = {name.lower(): name for name in listed}
    word = wanted.lower()
    parts = [part for part in re.split(r"[/:_-]", word) if part]
    holding = [low for low in by_lower if parts and all(part in low for part in parts)]
    holding.sort(key=lambda low: (len(low), low))
    few = by_lower if len(by_lower) <= MAX_COMPARED_NAMES else ()
    like = nearest_few(word, few, MAX_NEAR_NAMES, MIN_SIMILARITY)
    chosen = dict.fromkeys([*holding[:MAX_NEAR_NAMES], *like])
    return tuple(by_lower[low] for low in list(chosen)[:MAX_NEAR_NAMES])


def _advice(wanted: str, near: tuple[str, ...], visit: Visit) -> str:
    names = " or ".join(f"`{one}`" for one in near)
    meant = f"did you mean {names}?" if near else ""
    if visit.kind == "Ollama":
        pull = f"ollama pull {shlex.quote(wanted)}"
        return f"{pull}; {meant}" if meant else pull
    if meant:
        return meant
    if visit.kind == "LM Studio":
        return "load the model in LM Studio, or `lms get NAME`"
    if 1 <= len(visit.names) <= MAX_NEAR_NAMES:
        return f"it has {', '.join(f'`{one}`' for one in visit.names)}"
    return f"the names: curl {shlex.quote(visit.address.list_url)}"


def _ignored(model: ResolvedModel, visit: Visit) -> tuple[str, ...]:
    """Return what the model is sent and does not support, where its server says so."""
    as_listed = _on_list(model.model, visit)
    entry = next((one for one in visit.entries or () if name_of(one) == as_listed), None)
    supported = entry.get("supported_parameters") if entry is not None else None
    if not isinstance(supported, list):
        return ()
    sent = [
        name
        for name in ("temperature", "top_p", "max_tokens", "seed")
        if name in model.settings and model.settings[name].value is not None
    ]
    sent += [name for name in model.request_options if name not in NO_PARAMETERS]
    if model.thinking_level is not None:
        sent.append("reasoning")
    return tuple(dict.fromkeys(name for name in sent if name not in supported))
