"""A suite's models, resolved: transport, name, key, and every setting with the layer that set it.

Also what limits them. Trials in flight: by our own limit, and by the files this process may open.
Routing: whether a model behind OpenRouter is always served by the same upstream. Upstreams serve
one name with other weights, quantisations and limits: a score that was served by several of them is
a mixture, and a change of the mixture looks like a regression.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from collect.config import endpoints
from collect.config.cases import settings_of
from collect.config.embedded import MAX_SLOTS, disagreements, embedded_of, name_of
from collect.config.project_files import problem_at
from collect.config.resolved import ResolvedModel
from collect.config.unsupported import reserved, split
from schemas.config.run_profile import DEFAULT_SETTINGS, ProfileSettings, RunnerSettings, RunProfile
from schemas.config.suite import ModelConfig, Routing, Suite
from schemas.errors import ConfigError, Problem
from schemas.io.validation import check_extras
from schemas.io.yaml import KeyPath, Source, dotted
from schemas.run.config import EffectiveSetting, SettingOrigin

MAX_IN_FLIGHT = 10_000
"""Trials in flight of one collector: one core cannot stamp the bytes of more in time."""

BEYOND = "is more than one collector can keep in flight"
ALLOWED = f"at most {MAX_IN_FLIGHT:,}"

KEY = ("execution_policy", "max_concurrency")
"""Where a run profile says how many trials may be in flight."""

OWN_FILES = 64
"""Files that a collector has open beside its connections: logs, traces, pipes, libraries."""

FILES_OF_A_COMMAND = 8
"""Pipes, files and connections of one call of a command line tool."""

ROUTING_OPTIONS = ("provider", "models", "route", "plugins", "transforms")
"""Parts of a request body that say who serves it, or change it on the way."""

PINNED = "`request_options: {provider: {only: [NAME]}}` pins it"


def too_many_at_once(profile: RunProfile, source: Source) -> list[Problem]:
    """Return what is wrong with the concurrency of a run profile."""
    limit = profile.execution_policy.max_concurrency
    if limit <= MAX_IN_FLIGHT:
        return []
    return [problem_at(source, KEY, BEYOND, found=f"`{limit}`", allowed=ALLOWED)]


def refuse_too_few_files(
    models: Sequence[ResolvedModel], limit: int, n_planned: int, path: Path | None = None
) -> None:
    """Refuse a run whose requests in flight need more open files than this process may have.

    Without it each request beyond would fail as if nobody listened.

    Raises:
        ConfigError: with the command that raises the limit.
    """
    allowed = _open_files()
    in_flight = min(limit, n_planned, sum(model.max_concurrency for model in models))
    runs_commands = any(model.executable is not None for model in models)
    needed = in_flight * (FILES_OF_A_COMMAND if runs_commands else 1) + OWN_FILES
    if allowed is None or needed <= allowed:
        return
    what = f"{in_flight:,} trials at once need about {needed:,} open files"
    advice = f"`ulimit -n {needed}` raises the limit of this shell; or lower max_concurrency"
    problem = Problem(path, what, dotted(KEY), allowed=f"{allowed:,} open files", advice=advice)
    raise ConfigError([problem])


def _open_files() -> int | None:
    """Return how many files this process may have open; None: nobody says."""
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 - there is none on Windows

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def routing_of(model: str, options: Mapping[str, JsonValue]) -> Routing:
    """Return `pinned` when exactly one upstream may serve a model.

    `openrouter/auto` and names with a variant choose by themselves.
    """
    if model.startswith("openrouter/"):
        return "unpinned"
    prefers = options.get("provider")
    if not isinstance(prefers, dict):
        return "unpinned"
    only, order = prefers.get("only"), prefers.get("order")
    if isinstance(only, list) and len(only) == 1:
        return "pinned"
    fixed = prefers.get("allow_fallbacks") is False
    return "pinned" if fixed and isinstance(order, list) and len(order) == 1 else "unpinned"


@dataclass
class _Place:
    """Where a model stands in its suite, and what is wrong with it."""

    source: Source
    number: int
    problems: list[Problem]
    warnings: list[str]

    def add_problem(self, what: str, *field: str, **facts: str | None) -> None:
        key: KeyPath = ("models", self.number, *field)
        self.problems.append(problem_at(self.source, key, what, **facts))


def resolve_models(
    suite: Suite, profile: RunProfile, source: Source, allowed_hosts: frozenset[str]
) -> tuple[list[ResolvedModel], list[Problem], list[str]]:
    """Return the suite's models ready to be asked, what is wrong, and warnings."""
    problems: list[Problem] = []
    warnings: list[str] = []
    models = []
    seen: set[str] = set()
    for number, model in enumerate(suite.models):
        place = _Place(source, number, problems, warnings)
        if model.model_id in seen:
            place.add_problem("is used twice", "model_id", found=f"`{model.model_id}`")
        seen.add(model.model_id)
        if (resolved := _resolve(model, profile, place, allowed_hosts)) is not None:
            models.append(resolved)
    numbers = {model.model_id: number for number, model in enumerate(suite.models)}
    for resolved, field, what in disagreements(models):
        _Place(source, numbers[resolved.model_id], problems, warnings).add_problem(what, field)
    if not suite.models:
        problems.append(Problem(source.path, "the suite has no models", "models"))
    warnings += [
        f"run profile `{profile.run_profile_id}`: model_overrides names `{model_id}`, "
        f"which suite `{suite.suite_id}` does not have"
        for model_id in profile.model_overrides
        if model_id not in seen
    ]
    return models, problems, warnings


def _resolve(
    model: ModelConfig, profile: RunProfile, place: _Place, allowed_hosts: frozenset[str]
) -> ResolvedModel | None:
    settings = _settings(model, profile, place)
    provider = model.provider or endpoints.ROUTER
    if provider not in endpoints.PROVIDERS and (meant := endpoints.looks_like_transport(provider)):
        place.add_problem(
            f"looks like the transport or server `{meant}`, and would go to OpenRouter",
            "provider",
            found=f"`{provider}`",
            allowed=", ".join(endpoints.PROVIDERS) + ", or a vendor prefix on OpenRouter",
        )
        return None
    name = _name(model)
    if provider not in endpoints.PROVIDERS:  # a vendor on OpenRouter (D-E10)
        provider, name = endpoints.ROUTER, _name(model, vendor=provider)
    transport = endpoints.PROVIDERS[provider]
    embedded = embedded_of(
        model, place.source.path.parent, place.add_problem, is_embedded=transport.is_embedded
    )
    if transport.is_embedded and embedded is None:
        return None
    name = name_of(embedded) if embedded is not None else name
    base_url = _base_url(model, transport, place, allowed_hosts)
    for option, why in reserved(model.request_options).items():
        place.add_problem(f"cannot be a request option: it {why}", "request_options", option)
    if model.max_concurrency is not None and model.max_concurrency > MAX_IN_FLIGHT:
        found = f"`{model.max_concurrency}`"
        place.add_problem(BEYOND, "max_concurrency", found=found, allowed=ALLOWED)
    for option in sorted(model.request_options):
        if option.lower() in endpoints.KEY_FIELDS:
            place.add_problem(
                f"`{option}` cannot stand in a file", "request_options", advice=endpoints.KEY_ADVICE
            )
    routing = _routing(model, name, place) if transport.has_upstreams else None
    settings, not_applied = _applied(settings, provider, profile, model, place)
    if model.executable is not None and transport.executable is None:
        place.add_problem(
            f"`{provider}` runs no command", "executable", found=f"`{model.executable}`"
        )
    thinking_level = _thinking_level(model, provider, place)
    if base_url is None:
        return None
    loopback = endpoints.is_loopback(endpoints.host_of(base_url))
    limit = profile.execution_policy.max_concurrency
    if embedded is not None:  # what waits inside the server would count as the model's time
        limit = min(limit, MAX_SLOTS)
    return ResolvedModel(
        model_id=model.model_id,
        label=model.label,
        provider=provider,
        model=name,
        thinking_level=thinking_level,
        base_url=base_url,
        api_key_env=model.api_key_env or transport.api_key_env,
        key_required=model.api_key_env is not None
        or (transport.api_key_env is not None and not loopback),
        max_concurrency=min(model.max_concurrency or limit, limit),
        request_options=model.request_options,
        settings=settings,
        is_loopback=loopback,
        requests_per_minute=model.requests_per_minute,
        warmup=int(transport.loads_late) if model.warmup is None else model.warmup,
        exclusive=model.exclusive,
        executable=model.executable or transport.executable,
        routing=routing,
        not_applied=not_applied,
        embedded=embedded,
        primary_params=model.primary_params,
    )


def _base_url(
    model: ModelConfig, transport: endpoints.Transport, place: _Place, allowed_hosts: frozenset[str]
) -> str | None:
    """Return where a model is asked; None, with the reason noted, when it cannot be."""
    if transport.is_embedded:
        return transport.default_base_url
    base_url = transport.base_url(model.base_url)
    blame = "base_url" if model.base_url else "provider"
    unnamed = endpoints.name_problem(model.api_key_env)
    if unnamed is not None:
        place.add_problem(unnamed, "api_key_env")
    if what := endpoints.url_problem(base_url):
        place.add_problem(what, blame, found=endpoints.shown_url(base_url))
    elif transport.is_anthropic and base_url.endswith("/v1"):
        what = f"ends in `/v1`, which `{model.provider}` adds by itself"
        place.add_problem(what, blame, found=f"`{base_url}`", advice=f"write `{base_url[:-3]}`")
    elif unnamed is None:
        if what := endpoints.key_problem(transport, base_url, model.api_key_env, allowed_hosts):
            place.add_problem(what, blame)
        else:
            return base_url
    return None


def _name(model: ModelConfig, vendor: str | None = None) -> str:
    """Return what the server is asked for; a vendor stands before a name that has none."""
    name = model.model_name
    if name is not None and vendor is not None and "/" not in name:
        name = f"{vendor}/{name}"
    return model.requested_model or model.openrouter_model or name or model.model_id


def _routing(model: ModelConfig, name: str, place: _Place) -> Routing:
    """Return who may serve a model on OpenRouter, and warn when that is anyone."""
    here = f"{place.source.path}: model `{model.model_id}`"
    if model.provider is None:
        place.warnings.append(f"{here} names no provider: it is asked through OpenRouter")
    routing = routing_of(name, model.request_options)
    if routing == "unpinned":
        place.warnings.append(
            f"{here}: OpenRouter chooses who serves each request, and a change of upstream looks "
            f"like a change of the model; {PINNED}"
        )
    return routing


def _applied(
    settings: dict[str, EffectiveSetting],
    provider: str,
    profile: RunProfile,
    model: ModelConfig,
    place: _Place,
) -> tuple[dict[str, EffectiveSetting], tuple[str, ...]]:
    """Return the settings in force and the names of those left out (D-E1)."""
    sent, left = split(provider, settings)
    dropped = tuple(name for name, one in left.items() if one.origin == "runner_defaults")
    allowed = ", ".join(sorted(endpoints.PROVIDERS[provider].applies))
    for name, one in left.items():
        what = f"`{provider}` cannot send it"
        if one.origin == "suite_model":
            place.add_problem(what, name, found=f"`{one.value}`", allowed=allowed)
        elif one.origin == "model_overrides":
            where = f"model_overrides.{model.model_id}.{name} of `{profile.run_profile_id}`"
            place.add_problem(
                f"{what}: {where}", "provider", found=f"`{one.value}`", allowed=allowed
            )
    if dropped:
        names = ", ".join(f"`{name}`" for name in dropped)
        place.warnings.append(
            f"{place.source.path}: model `{model.model_id}`: `{provider}` cannot send {names} of "
            "runner_defaults: not applied"
        )
    return sent, dropped


def _thinking_level(model: ModelConfig, provider: str, place: _Place) -> str | None:
    """Return the effort of reasoning, which two fields may name (D-E12)."""
    reasoning = model.primary_params.get("reasoning")
    effort = reasoning.get("effort") if isinstance(reasoning, dict) else None
    if effort is not None and not isinstance(effort, str):
        place.add_problem("`reasoning.effort` must be text", "primary_params", found=f"`{effort}`")
        return None
    if effort and model.thinking_level and effort != model.thinking_level:
        what = f"`reasoning.effort` is `{effort}`, and thinking_level is `{model.thinking_level}`"
        place.add_problem(what, "primary_params")
    level = model.thinking_level or effort
    levels = endpoints.PROVIDERS[provider].thinking_levels
    if level is not None and levels is not None and level not in levels:
        blame = "thinking_level" if model.thinking_level else "primary_params"
        place.add_problem(
            f"`{provider}` cannot ask for it", blame, found=f"`{level}`", allowed=", ".join(levels)
        )
    return level


def _settings(
    model: ModelConfig, profile: RunProfile, place: _Place
) -> dict[str, EffectiveSetting]:
    """Return each setting's value and origin; the later layer wins (D-E1)."""
    extras = dict(model.model_extra or {})
    own = {name: extras.pop(name) for name in list(extras) if name in RunnerSettings.model_fields}
    at = ("models", place.number)
    known = RunnerSettings.model_fields | ModelConfig.model_fields
    problems, warnings = check_extras(extras, known, place.source, at)
    place.problems += problems
    place.warnings += warnings
    override = profile.model_overrides.get(model.model_id, ProfileSettings())
    layers: tuple[tuple[SettingOrigin, dict[str, JsonValue]], ...] = (
        ("default", DEFAULT_SETTINGS.model_dump(exclude_unset=True)),
        ("runner_defaults", profile.runner_defaults.model_dump(exclude_unset=True)),
        ("model_overrides", override.model_dump(exclude_unset=True)),
        ("suite_model", settings_of(own, place.source, at, place.problems)),
    )
    return {
        name: EffectiveSetting(value=value, origin=origin)
        for origin, layer in layers
        for name, value in layer.items()
    }
