"""Is each key there, and is what is there plausibly a key? Values are never shown.

Do the suites load, and would `collect run` take every case of them?
"""

from __future__ import annotations

import os
import shlex

from collect.config import ResolvedModel
from collect.config.endpoints import OAUTH_TOKEN, TRANSPORT, host_of, key_of
from collect.doctor.context import LookedAt, Scene, and_more
from collect.doctor.findings import Details, found
from schemas.errors import ConfigError, counted, shown
from schemas.output.doctor import DoctorCheck
from schemas.redact import key_names

BEGINS = {
    "OPENROUTER_API_KEY": ("sk-or-", "OpenRouter"),
    "ANTHROPIC_API_KEY": ("sk-ant-", "Anthropic"),
    "OPENAI_API_KEY": ("sk-", "OpenAI"),
}
"""How the keys of a service begin, and its name; the first that fits is the service's."""

SHORTEST = 12
"""Keys are longer; shorter values are words that stand in for one."""


async def check_keys(scene: Scene) -> list[DoctorCheck]:
    """Return a finding for each variable that a model names, or for those that are set."""
    wanted: dict[str, list[tuple[str, ResolvedModel]]] = {}
    for name, model in scene.models():
        if model.api_key_env is not None:
            wanted.setdefault(model.api_key_env, []).append((name, model))
    if wanted:
        return [_key(variable, users) for variable, users in wanted.items()]
    if scene.models():
        return [found("keys", "–", "ok", "no model needs a key")]
    names = key_names()
    text = f"set: {', '.join(names)}" if names else "no variable that holds a key is set"
    return [
        found(
            "keys", "environment", "ok" if names else "skip", text, details={"names": list(names)}
        )
    ]


def _key(variable: str, users: list[tuple[str, ResolvedModel]]) -> DoctorCheck:
    model = users[0][1]
    hosts = sorted({host_of(one.base_url) for _, one in users})
    who = and_more([name for name, _ in users])
    goes = f"sent to {and_more(hosts)} ({who})"
    details: Details = {"hosts": list(hosts), "models": [name for name, _ in users]}
    try:
        key = key_of(model)
    except ConfigError:
        text = "is set, but holds characters that no key has"
        return found("keys", variable, "fail", text, _set_it(variable), details=details)
    if not key:
        if not any(one.key_required for _, one in users):
            text = f"not set; {who} asked on this machine may do without"
            return found("keys", variable, "ok", text, details=details)
        advice = _set_it(variable)
        if variable == "ANTHROPIC_API_KEY" and os.environ.get(OAUTH_TOKEN):
            advice = f"{OAUTH_TOKEN} is set: name it with `api_key_env`, or {advice}"
        text = f"is not set, and {who} cannot be asked without it"
        return found("keys", variable, "fail", text, advice, details=details)
    own = any(
        variable == TRANSPORT[one.provider].api_key_env and not one.is_loopback for _, one in users
    )
    if odd := _oddity(variable if own else "", key):
        return found(
            "keys", variable, "warn", f"set, but {odd}", _set_it(variable), details=details
        )
    return found("keys", variable, "ok", f"set; {goes}", details=details)


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
        if len(key) < SHORTEST:
            return "shorter than any key"
    return None


async def check_suites(scene: Scene) -> list[DoctorCheck]:
    """Return a finding for each suite."""
    if not scene.suites:
        where = "this project has no suite" if scene.has_project else "no project here or above"
        return [found("suites", "–", "skip", f"{where}: only the machine was looked at")]
    return [_suite(suite) for suite in scene.suites]


def _suite(suite: LookedAt) -> DoctorCheck:
    if suite.problems:
        first, count = suite.problems[0], len(suite.problems)
        text = f"does not load: {first}"
        if count > 1:
            text += f" (and {count - 1} more)"
        validate = f"collect validate {shlex.quote(shown(suite.path))}"
        return found("suites", suite.name, "fail", text, f"{validate} shows every problem")
    details: Details = {"models": len(suite.models), "cases": len(suite.cases)}
    told = f"{counted(len(suite.models), 'model')}, {counted(len(suite.cases), 'case')}"
    if suite.refused:
        text = f"`collect run` refuses it: {suite.refused[0]}"
        if len(suite.refused) > 1:
            text += f" (and {len(suite.refused) - 1} more)"
        advice = "leave such cases out with `exclude_case_ids` or `exclude_tags`"
        return found("suites", suite.name, "fail", text, advice, details=details)
    return found("suites", suite.name, "ok", told, details=details)
