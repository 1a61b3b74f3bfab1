"""Evaluation profiles: judges, references, the system prompt's file, and which hooks may run.

A judge is resolved like a model of a suite: where it is asked, with which key and body (D-G1,
D-G6, D-H4).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import JsonValue

from collect.checks.declarative import HOOKS_DISABLED, SANDBOX_MISSING
from collect.config import endpoints
from collect.config.cases import Notes
from collect.config.embedded import (
    CONTEXT_TOKENS,
    MAX_SLOTS,
    PACKAGED_MODEL,
    default_threads,
    engine,
)
from collect.config.project_files import name_problems, project_of, resolve, warning_at
from collect.config.resolved import LoadedCase, ResolvedModel
from collect.config.unsupported import reserved
from schemas.config.evaluation_profile import (
    AnchorReference,
    EvaluationProfile,
    JudgeConfig,
    SecurityPolicy,
)
from schemas.errors import ConfigError, nearest
from schemas.io.validation import parse
from schemas.io.yaml import KeyPath, decode, read_bytes, read_yaml
from schemas.run.config import EmbeddedServer

RESERVED = frozenset({"messages", "tools", "tool_choice", "functions", "stream"})
"""A judge is a plain API call that we write: these would change what is asked (D-G1)."""

OURS = "is written by the judge's own request: one plain call without tools"

MAX_PROMPT_BYTES = 200_000
"""Bytes of a system prompt; a larger one would not leave the judge room for the case."""


@dataclass(frozen=True)
class ResolvedJudge:
    """A judge ready to be asked."""

    model: ResolvedModel
    """Its `model_id` is the judge's id."""
    timeout_s: float
    retries: int
    max_tokens: int
    """Of one answer."""

    @property
    def judge_id(self) -> str:
        """Return the judge's id."""
        return self.model.model_id


def resolve_judge(
    judge: JudgeConfig, number: int, allowed_hosts: frozenset[str], notes: Notes
) -> ResolvedJudge | None:
    """Return a judge by the rules of suite models; what is wrong with it is noted."""
    before = len(notes.problems)
    at: KeyPath = ("judges", number)
    options = _options(judge, at, notes)
    provider, model = judge.provider or endpoints.ROUTER, judge.model or judge.judge_id
    if provider not in endpoints.PROVIDERS:
        if meant := endpoints.looks_like_transport(provider):
            notes.add_problem(
                f"looks like the transport or server `{meant}`, and would go to OpenRouter",
                (*at, "provider"),
                found=f"`{provider}`",
                allowed=", ".join(endpoints.PROVIDERS) + ", or a vendor prefix on OpenRouter",
            )
            return None
        provider, model = endpoints.ROUTER, model if "/" in model else f"{provider}/{model}"
    transport = endpoints.PROVIDERS[provider]
    if transport.adds_prompts:
        plain = [one for one in endpoints.PROVIDERS if not endpoints.PROVIDERS[one].adds_prompts]
        notes.add_problem(
            "writes prompts of its own around ours, and a judge is one plain call",
            (*at, "provider"),
            found=f"`{provider}`",
            allowed=", ".join(plain),
        )
        return None
    if transport.is_embedded:
        return _embedded(judge, provider, at, options, notes)
    base_url = transport.base_url(judge.base_url)
    blame = "base_url" if judge.base_url else "provider"
    loopback = endpoints.is_loopback(endpoints.host_of(base_url))
    unnamed = endpoints.name_problem(judge.api_key_env)
    if unnamed is not None:
        notes.add_problem(unnamed, (*at, "api_key_env"))
    if (what := endpoints.url_problem(base_url)) or (
        unnamed is None
        and (what := endpoints.key_problem(transport, base_url, judge.api_key_env, allowed_hosts))
    ):
        notes.add_problem(what, (*at, blame), found=endpoints.shown_url(base_url))
    if len(notes.problems) > before:
        return None
    resolved = _asked_as(judge, provider, model, base_url, options)
    key_required = transport.api_key_env is not None and not loopback
    return _ready(
        judge,
        replace(
            resolved,
            api_key_env=judge.api_key_env or transport.api_key_env,
            key_required=judge.api_key_env is not None or key_required,
            is_loopback=loopback,
        ),
    )


def _embedded(
    judge: JudgeConfig, provider: str, at: KeyPath, options: Mapping[str, JsonValue], notes: Notes
) -> ResolvedJudge | None:
    """Return the packaged model as a judge, which whoever asks it serves on this machine."""
    said = [name for name in ("model", "base_url", "api_key_env") if getattr(judge, name)]
    for name in said:
        what = "a judge with `provider: embedded` is the packaged model, served on this machine"
        notes.add_problem(what, (*at, name), advice=f"take `{name}` out")
    if said:
        return None
    base_url = endpoints.PROVIDERS[provider].default_base_url
    model = _asked_as(judge, provider, PACKAGED_MODEL, base_url, options)
    server = EmbeddedServer(
        model_file=None,
        context_tokens=CONTEXT_TOKENS,
        threads=default_threads(),
        engine=engine(),
    )
    in_flight = min(judge.max_concurrency, MAX_SLOTS)
    return _ready(
        judge, replace(model, embedded=server, is_loopback=True, max_concurrency=in_flight)
    )


def _asked_as(
    judge: JudgeConfig, provider: str, model: str, base_url: str, options: Mapping[str, JsonValue]
) -> ResolvedModel:
    return ResolvedModel(
        model_id=judge.judge_id,
        label=None,
        provider=provider,
        model=model,
        thinking_level=None,
        base_url=base_url,
        api_key_env=None,
        key_required=False,
        max_concurrency=judge.max_concurrency,
        request_options=options,
        settings={},
        is_loopback=False,
    )


def _ready(judge: JudgeConfig, model: ResolvedModel) -> ResolvedJudge:
    return ResolvedJudge(model, judge.timeout_seconds, judge.retries, judge.max_tokens)


def _options(judge: JudgeConfig, at: KeyPath, notes: Notes) -> dict[str, JsonValue]:
    """Return what joins the request body: further fields, then `request_options`."""
    extras = dict(judge.model_extra or {})
    body = judge.request_options
    for name, value in extras.items():
        if near := [field for field in JudgeConfig.model_fields if _is_typo(name, field)]:
            notes.add_problem("unknown key", (*at, name), nearest=near[0])
        if name in body and body[name] != value:
            notes.add_problem("stands in `request_options` too, with another value", (*at, name))
    for key, names in ((at, extras.keys()), ((*at, "request_options"), body.keys() - extras)):
        for name in sorted(names):
            if name.lower() in endpoints.KEY_FIELDS:
                notes.add_problem(
                    "cannot stand in a file", (*key, name), advice=endpoints.KEY_ADVICE
                )
            elif name in RESERVED:
                notes.add_problem(OURS, (*key, name))
            elif (why := reserved((name,)).get(name)) is not None:
                notes.add_problem(f"cannot be a request option: it {why}", (*key, name))
    return extras | body


def _is_typo(name: str, field: str) -> bool:
    return abs(len(name) - len(field)) <= 2 and endpoints.distance(name, field) <= 2


@dataclass(frozen=True)
class LoadedEvaluation:
    """An evaluation profile with everything it names."""

    profile: EvaluationProfile
    path: Path
    sha256: str
    system_prompt: str | None
    """None: the packaged one."""
    judges: tuple[ResolvedJudge, ...] = ()
    prompt_path: Path | None = None
    prompt_sha256: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def has_judges(self) -> bool:
        """Return whether somebody is asked about trials."""
        return bool(self.profile.judge_runs)

    @property
    def decides(self) -> bool:
        """Return whether judges have a say in verdicts: where there is a threshold."""
        return self.has_judges and self.profile.aggregation.pass_threshold is not None

    @property
    def shown_anchors(self) -> tuple[AnchorReference, ...]:
        """Return the examples that judges are shown."""
        anchors = self.profile.anchors
        return anchors.references if anchors.enabled else ()

    @property
    def files(self) -> dict[str, str]:
        """The files that it was made of, each with its sha256."""
        files = {str(self.path): self.sha256}
        if self.prompt_path is not None and self.prompt_sha256 is not None:
            files[str(self.prompt_path)] = self.prompt_sha256
        return files


def load_evaluation_profile(
    reference: str, working_dir: Path, *, allowed_hosts: Iterable[str] = ()
) -> LoadedEvaluation:
    """Load an evaluation profile, given as an id or a path.

    Raises:
        ConfigError: all problems of the profile and the files it names.
    """
    source = read_yaml(resolve(reference, "evaluation profile", working_dir))
    profile = parse(EvaluationProfile, source)
    found = Notes(source)
    found.problems += name_problems(source, "evaluation_profile_id", profile.evaluation_profile_id)
    _check_references(profile, found)
    hosts = frozenset(host.lower() for host in allowed_hosts)
    judges = []
    for number, judge in enumerate(profile.judges):
        resolved = resolve_judge(judge, number, hosts, found)
        if resolved is not None:
            judges.append(resolved)
            if judge.model is None and resolved.model.embedded is None:
                name = resolved.model.model
                _warn(found, f"names no `model`; `{name}` is asked", ("judges", number))
    prompt, prompt_path, digest = _prompt(profile, found)
    if found.problems:
        raise ConfigError(found.problems)
    return LoadedEvaluation(
        profile=profile,
        path=source.path,
        sha256=source.sha256,
        system_prompt=prompt,
        judges=tuple(judges),
        prompt_path=prompt_path,
        prompt_sha256=digest,
        warnings=tuple(found.warnings),
    )


def _check_references(profile: EvaluationProfile, found: Notes) -> None:
    """Check that ids are unique, that judge runs name judges, and that settings make sense."""
    _check_unique("judge_id", [judge.judge_id for judge in profile.judges], ("judges",), found)
    runs = [run.judge_run_id for run in profile.judge_runs]
    _check_unique("judge_run_id", runs, ("judge_runs",), found)
    anchors = [anchor.anchor_id for anchor in profile.anchors.references]
    _check_unique("anchor_id", anchors, ("anchors", "references"), found)
    known = [judge.judge_id for judge in profile.judges]
    for number, run in enumerate(profile.judge_runs):
        if run.judge_id not in known:
            found.add_problem(
                "no judge has this id",
                ("judge_runs", number, "judge_id"),
                found=f"`{run.judge_id}`",
                allowed=", ".join(known) or "none is declared",
                nearest=nearest(run.judge_id, known),
            )
    if profile.judges and not profile.judge_runs:
        advice = f"write `judge_runs: [{{judge_run_id: main, judge_id: {known[0]}}}]`"
        found.add_problem(
            "there are judges, and nothing says to ask them", ("judges",), advice=advice
        )
    threshold: KeyPath = ("aggregation", "pass_threshold")
    if profile.aggregation.pass_threshold == 1:
        _warn(
            found,
            "is 1 of 10, which nearly everything reaches; write 10 for the top of the scale, "
            "or a fraction below 1",
            threshold,
        )
    if profile.anchors.enabled and not profile.anchors.references:
        _warn(found, "is true, and there are no references to show", ("anchors", "enabled"))


def _warn(found: Notes, what: str, key: KeyPath) -> None:
    found.warnings.append(warning_at(found.source, key, what))


def _check_unique(name: str, ids: list[str], at: KeyPath, found: Notes) -> None:
    for number, one in enumerate(ids):
        if one in ids[:number]:
            found.add_problem("is used twice", (*at, number, name), found=f"`{one}`")


def _prompt(profile: EvaluationProfile, found: Notes) -> tuple[str | None, Path | None, str | None]:
    """Return the system prompt, and the file it came from with its hash."""
    if profile.judge_system_prompt is not None:
        if not profile.judge_system_prompt.strip():
            found.add_problem("is empty", ("judge_system_prompt",))
        return profile.judge_system_prompt, None, None
    if (name := profile.judge_system_prompt_path) is None:
        return None, None, None
    key = ("judge_system_prompt_path",)
    here = found.source.path.resolve().parent
    try:
        path = (here / name).resolve()
    except (OSError, ValueError, RuntimeError):
        found.add_problem("is not a path that can be followed", key, found=repr(name))
        return None, None, None
    project = project_of(found.source.path) or here
    if not path.is_relative_to(project):
        found.add_problem("leaves the project", key, found=f"`{name}`")
        return None, None, None
    try:
        raw = read_bytes(path, MAX_PROMPT_BYTES)
        text = decode(path, raw)
    except ConfigError as exc:
        found.add_problem(f"{name}: {exc.problems[0].what}", key)
        return None, None, None
    if not text.strip():
        found.add_problem(f"{name}: is empty", key)
    return text, path, hashlib.sha256(raw).hexdigest()


def hook_ids(case: LoadedCase) -> tuple[str, ...]:
    """Return the check_id of each check of a case that is a hook."""
    return tuple(check.check_id for check in case.checks if check.python_hook is not None)


def allowed(case: LoadedCase) -> LoadedCase:
    """Return a case whose hooks may run."""
    ids = hook_ids(case)
    return replace(
        case,
        unevaluable=tuple(one for one in case.unevaluable if one[1] != HOOKS_DISABLED),
        unbuilt=tuple(one for one in case.unbuilt if one.check_id not in ids),
    )


def by_policy(cases: Iterable[LoadedCase], policy: SecurityPolicy) -> tuple[LoadedCase, ...]:
    """Return cases whose hooks may run where a security policy says so."""
    if not policy.allow_local_python_hooks:
        return tuple(cases)
    return tuple(map(allowed, cases))


def disabled(case: LoadedCase, reason: str = HOOKS_DISABLED) -> LoadedCase:
    """Return a case whose hooks cannot run, as of which reason."""
    others = tuple(
        one for one in case.unevaluable if one[1] not in {HOOKS_DISABLED, SANDBOX_MISSING}
    )
    mine = tuple((check_id, reason) for check_id in hook_ids(case))
    return replace(case, unevaluable=(*others, *mine))


def hooked(cases: Iterable[LoadedCase]) -> list[LoadedCase]:
    """Return the cases that are asked and have a hook that may run."""
    return [
        case
        for case in cases
        if case.unavailable is None
        and not set(hook_ids(case)) <= {check_id for check_id, _ in case.unevaluable}
    ]
