"""Resolves a judge: where it is asked, with which key and body (D-G1, D-G6, D-H4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from collect.config.endpoints import (
    KEY_ADVICE,
    KEY_FIELDS,
    TRANSPORT,
    distance,
    host_of,
    is_loopback,
    key_problem,
    looks_like_transport,
    name_problem,
    shown_url,
    url_problem,
)
from collect.config.messages import Notes
from collect.config.reserved import reserved
from schemas.config.evaluation_profile import JudgeConfig
from schemas.config.suite import TRANSPORTS
from schemas.io.yaml import KeyPath

RESERVED = frozenset({"messages", "tools", "tool_choice", "functions", "stream"})
"""A judge is a plain API call that we write: these would change what is asked (D-G1)."""

OURS = "is written by the judge's own request: one plain call without tools"


@dataclass(frozen=True)
class ResolvedJudge:
    """A judge ready to be asked."""

    judge_id: str
    provider: str
    model: str
    base_url: str
    api_key_env: str | None
    key_required: bool
    request_options: Mapping[str, JsonValue]


def resolve_judge(
    judge: JudgeConfig, number: int, allowed_hosts: frozenset[str], notes: Notes
) -> ResolvedJudge | None:
    """Return a judge by the rules of suite models; what is wrong with it is noted."""
    before = len(notes.problems)
    at: KeyPath = ("judges", number)
    options = _options(judge, at, notes)
    provider, model = judge.provider or "openrouter", judge.model or judge.judge_id
    if provider not in TRANSPORTS:
        if meant := looks_like_transport(provider):
            notes.wrong(
                f"looks like the transport or server `{meant}`, and would go to OpenRouter",
                (*at, "provider"),
                found=f"`{provider}`",
                allowed=", ".join(TRANSPORTS) + ", or a vendor prefix on OpenRouter",
            )
            return None
        provider, model = "openrouter", model if "/" in model else f"{provider}/{model}"
    transport = TRANSPORT[provider]
    if transport.is_embedded:
        served = "a run serves its own models only; a judge is asked at a server that is there"
        notes.wrong(served, (*at, "provider"), found=f"`{provider}`")
        return None
    base_url = transport.base_url(judge.base_url)
    blame = "base_url" if judge.base_url else "provider"
    loopback = is_loopback(host_of(base_url))
    unnamed = name_problem(judge.api_key_env)
    if unnamed is not None:
        notes.wrong(unnamed, (*at, "api_key_env"))
    if (what := url_problem(base_url)) or (
        unnamed is None
        and (what := key_problem(transport, base_url, judge.api_key_env, allowed_hosts))
    ):
        notes.wrong(what, (*at, blame), found=shown_url(base_url))
    if len(notes.problems) > before:
        return None
    return ResolvedJudge(
        judge_id=judge.judge_id,
        provider=provider,
        model=model,
        base_url=base_url,
        api_key_env=judge.api_key_env or transport.api_key_env,
        key_required=judge.api_key_env is not None
        or (transport.api_key_env is not None and not loopback),
        request_options=options,
    )


def _options(judge: JudgeConfig, at: KeyPath, notes: Notes) -> dict[str, JsonValue]:
    """Return what joins the request body: further fields, then `request_options`."""
    extras = dict(judge.model_extra or {})
    body = judge.request_options
    for name, value in extras.items():
        if near := [field for field in JudgeConfig.model_fields if _is_typo(name, field)]:
            notes.wrong("unknown key", (*at, name), nearest=near[0])
        if name in body and body[name] != value:
            notes.wrong("stands in `request_options` too, with another value", (*at, name))
    for key, names in ((at, extras.keys()), ((*at, "request_options"), body.keys() - extras)):
        for name in sorted(names):
            if name.lower() in KEY_FIELDS:
                notes.wrong("cannot stand in a file", (*key, name), advice=KEY_ADVICE)
            elif name in RESERVED:
                notes.wrong(OURS, (*key, name))
            elif (why := reserved((name,)).get(name)) is not None:
                notes.wrong(f"cannot be a request option: it {why}", (*key, name))
    return extras | body


def _is_typo(name: str, field: str) -> bool:
    return abs(len(name) - len(field)) <= 2 and distance(name, field) <= 2
