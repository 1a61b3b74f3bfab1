"""Loads an evaluation profile: judges resolved like suite models, references, the prompt file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from collect.config.judges import ResolvedJudge, resolve_judge
from collect.config.messages import Notes
from collect.config.project_files import name_problems, project_of, resolve
from schemas.config.evaluation_profile import EvaluationProfile
from schemas.errors import ConfigError, nearest
from schemas.io.validation import parse
from schemas.io.yaml import KeyPath, decode, dotted, read_bytes, read_yaml

PROMPT_LIMIT = 200_000
"""Bytes of a system prompt; a larger one would not leave the judge room for the case."""


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
            if judge.model is None:
                _warn(found, f"names no `model`; `{resolved.model}` is asked", ("judges", number))
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
    _once("judge_id", [judge.judge_id for judge in profile.judges], ("judges",), found)
    runs = [run.judge_run_id for run in profile.judge_runs]
    _once("judge_run_id", runs, ("judge_runs",), found)
    anchors = [anchor.anchor_id for anchor in profile.anchors.references]
    _once("anchor_id", anchors, ("anchors", "references"), found)
    known = [judge.judge_id for judge in profile.judges]
    for number, run in enumerate(profile.judge_runs):
        if run.judge_id not in known:
            found.wrong(
                "no judge has this id",
                ("judge_runs", number, "judge_id"),
                found=f"`{run.judge_id}`",
                allowed=", ".join(known) or "none is declared",
                nearest=nearest(run.judge_id, known),
            )
    if profile.judges and not profile.judge_runs:
        advice = f"write `judge_runs: [{{judge_run_id: main, judge_id: {known[0]}}}]`"
        found.wrong("there are judges, and nothing says to ask them", ("judges",), advice=advice)
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
    place = f"{found.source.path}:{found.source.line_of(key)}"
    found.warnings.append(f"{place}: `{dotted(key)}` {what}")


def _once(name: str, ids: list[str], at: KeyPath, found: Notes) -> None:
    for number, one in enumerate(ids):
        if one in ids[:number]:
            found.wrong("is used twice", (*at, number, name), found=f"`{one}`")


def _prompt(profile: EvaluationProfile, found: Notes) -> tuple[str | None, Path | None, str | None]:
    """Return the system prompt, and the file it came from with its hash."""
    if profile.judge_system_prompt is not None:
        if not profile.judge_system_prompt.strip():
            found.wrong("is empty", ("judge_system_prompt",))
        return profile.judge_system_prompt, None, None
    if (name := profile.judge_system_prompt_path) is None:
        return None, None, None
    key = ("judge_system_prompt_path",)
    here = found.source.path.resolve().parent
    try:
        path = (here / name).resolve()
    except (OSError, ValueError, RuntimeError):
        found.wrong("is not a path that can be followed", key, found=repr(name))
        return None, None, None
    project = project_of(found.source.path) or here
    if not path.is_relative_to(project):
        found.wrong("leaves the project", key, found=f"`{name}`")
        return None, None, None
    try:
        raw = read_bytes(path, PROMPT_LIMIT)
        text = decode(path, raw)
    except ConfigError as exc:
        found.wrong(f"{name}: {exc.problems[0].what}", key)
        return None, None, None
    if not text.strip():
        found.wrong(f"{name}: is empty", key)
    return text, path, hashlib.sha256(raw).hexdigest()
