"""Where personal_agent_eval keeps what: its folders, found from any of three places.

One run profile of one suite is one run here: `runs/suit_<suite>/run_profile_<fp6>/`, with whatever
`evaluations/` has of it. The spelling `suit_` is theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from analyze.importers.originals import Below, files_below
from analyze.imports.names import slugs_of
from schemas.base import Finding
from schemas.errors import ConfigError, Problem

SUITE = "suit_"
PROFILE = "run_profile_"
EVALUATIONS = "evaluation_profile_"

RUN_FILE = re.compile(r"run_([1-9]\d{0,8})\.json")
FINAL_FILE = re.compile(r"final_result_([1-9]\d{0,8})\.json")
JUDGE_FILE = re.compile(r"judge_([1-9]\d{0,8})\.json")
RAW_FOLDER = "raw_outputs"
"""Holds the results of an evaluation; before it was there, they lay in the folder above."""


class Key(NamedTuple):
    """A trial by the names of its folders and the number of its file."""

    model: str
    case: str
    repetition: int


class Evaluated(NamedTuple):
    """What one evaluation left of one trial, by names of files."""

    folder: str
    """`eval_profile_<id>_<fp6>`"""
    final: str | None
    """None: no judge gave a score."""


@dataclass(frozen=True)
class Profile:
    """One run profile of one suite.

    Attributes:
        folder: with a folder for each model.
        evaluations: with a folder for each evaluation; None where they are not beside it.
    """

    folder: Path
    evaluations: Path | None

    @property
    def suite(self) -> str:
        """The suite's id, by the name of its folder."""
        return self.folder.parent.name.removeprefix(SUITE)

    @property
    def fingerprint(self) -> str:
        """The first digits of the run profile's fingerprint."""
        return self.folder.name.removeprefix(PROFILE)

    @property
    def name(self) -> str:
        """What it is called among its outputs."""
        return f"{self.folder.parent.name}/{self.folder.name}"

    @cached_property
    def sources(self) -> Mapping[str, Path]:
        """Every file of it, by its path below the folder of all outputs."""
        return {
            f"{place}/{name}": path
            for place, below in self._below.items()
            for name, path in below.files.items()
        }

    @property
    def left_out(self) -> tuple[Finding, ...]:
        """That something in its folders is not among its files."""
        return tuple(one for below in self._below.values() for one in below.findings)

    @cached_property
    def _below(self) -> dict[str, Below]:
        """What is in its folders, by their place below the folder of all outputs."""
        found = {f"runs/{self.name}": files_below(self.folder)}
        if self.evaluations is not None:
            place = f"evaluations/{self.folder.parent.name}/{self.evaluations.name}"
            found[place] = files_below(self.evaluations)
        return found

    @cached_property
    def runs(self) -> dict[Key, str]:
        """Files of trials, in the order of models, cases and repetitions."""
        found = {}
        for name in self.sources:
            match name.split("/"):
                case "runs", _, _, model, case, file if number := RUN_FILE.fullmatch(file):
                    found[Key(model, case, int(number[1]))] = name
        return dict(sorted(found.items()))

    def cases(self) -> dict[tuple[str, str], str]:
        """Return the name that the manifest of every case would have, by model and case."""
        return {
            (parts[3], parts[4]): "/".join([*parts[:5], "manifest.json"])
            for name in self.sources
            if (parts := name.split("/"))[0] == "runs" and len(parts) > 5
        }

    @cached_property
    def model_ids(self) -> dict[str, str]:
        """The id of each model, by the name of its folder."""
        models = [*(model for model, _ in self.cases()), *(key.model for key in self.evaluated)]
        return slugs_of(sorted(models))

    @cached_property
    def case_ids(self) -> dict[str, str]:
        """The id of each case, by the name of its folder."""
        cases = [*(case for _, case in self.cases()), *(key.case for key in self.evaluated)]
        return slugs_of(sorted(cases))

    @cached_property
    def evaluated(self) -> dict[Key, list[Evaluated]]:
        """What there is of evaluations, by trial; both layouts, the newer one first."""
        finals: dict[tuple[Key, str], str | None] = {}
        for name in sorted(self.sources, key=lambda name: RAW_FOLDER not in name):
            parts = name.split("/")
            if parts[0] != "evaluations" or not 7 <= len(parts) <= 8:
                continue
            if len(parts) == 8 and parts[6] != RAW_FOLDER:
                continue
            folder, model, case = parts[3:6]
            if number := FINAL_FILE.fullmatch(parts[-1]):
                place = Key(model, case, int(number[1])), folder
                finals[place] = finals.get(place) or name
            elif number := JUDGE_FILE.fullmatch(parts[-1]):
                finals.setdefault((Key(model, case, int(number[1])), folder), None)
        found: dict[Key, list[Evaluated]] = {}
        for (key, folder), final in sorted(finals.items(), key=lambda one: one[0]):
            found.setdefault(key, []).append(Evaluated(folder, final))
        return found


def profiles_at(path: Path) -> list[Profile]:
    """Return the run profiles at a place, by name.

    Args:
        path: `outputs/`, a workspace that holds it, or one `run_profile_` folder.

    Raises:
        ConfigError: there are none; a link to elsewhere is none.
    """
    path = path.resolve()
    if path.name.startswith(PROFILE) and path.is_dir():
        return [_profile(path)]
    for runs in (path / "outputs" / "runs", path / "runs"):
        found = [one for one in runs.glob(f"{SUITE}*/{PROFILE}*") if _is_folder_in(one, runs)]
        if found:
            return [_profile(one) for one in sorted(found)]
    what = "there are no runs of personal_agent_eval"
    allowed = (
        f"its outputs/ (with runs/{SUITE}<suite>/{PROFILE}<fp6>/), the workspace that holds it, "
        f"or one {PROFILE}<fp6> folder"
    )
    raise ConfigError([Problem(path, what, allowed=allowed)])


def _profile(folder: Path) -> Profile:
    suite = folder.parent
    name = EVALUATIONS + folder.name.removeprefix(PROFILE)
    beside = suite.parent.parent / "evaluations" / suite.name / name
    is_whole = suite.parent.name == "runs" and _is_folder_in(beside, beside.parents[1])
    return Profile(folder, beside if is_whole else None)


def _is_folder_in(path: Path, above: Path) -> bool:
    """Return whether a path is a folder that really lies in another one."""
    return path.is_dir() and path.resolve().is_relative_to(above.resolve())
