"""Files of personal_agent_eval: its folders, found from any of three places, and its JSON.

One run profile of one suite is one run here: `runs/suit_<suite>/run_profile_<fp6>/`, with whatever
`evaluations/` has of it. The spelling `suit_` is theirs.

A file is read leniently. They are written in place without a lock, so a killed campaign leaves
halves of them; a value that no column of ours can hold becomes null, and the note says where it
stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from analyze.importers.defaults import moment_of, slugs_of
from analyze.importers.originals import Below, files_below
from schemas.base import MAX_QUANTITY, Finding, error, pointer, warning
from schemas.errors import ConfigError, Problem, printable
from schemas.io.json_text import described, read_json_text

SUITE = "suit_"
PROFILE = "run_profile_"
EVALUATIONS = "evaluation_profile_"

RUN_FILE = re.compile(r"run_([1-9]\d{0,8})\.json")
FINAL_FILE = re.compile(r"final_result_([1-9]\d{0,8})\.json")
JUDGE_FILE = re.compile(r"judge_([1-9]\d{0,8})\.json")
RAW_FOLDER = "raw_outputs"
"""Holds the results of an evaluation; before it was there, they lay in the folder above."""

MAX_FILE_BYTES = 1 << 28
"""Of one file; a larger one is no record of a trial."""

MAX_TEXT_BYTES = 4_000
"""Kept of a name or a message."""


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
    evaluations = suite.parent.parent / "evaluations" / suite.name / name
    is_whole = suite.parent.name == "runs" and _is_folder_in(evaluations, evaluations.parents[1])
    return Profile(folder, evaluations if is_whole else None)


def _is_folder_in(path: Path, above: Path) -> bool:
    """Return whether a path is a folder that really lies in another one."""
    return path.is_dir() and path.resolve().is_relative_to(above.resolve())


class Document:
    """The object in one file.

    Args:
        name: of the file below the folder of all outputs.
        data: what is in it.
        notes: takes what is found wrong.
    """

    def __init__(self, name: str, data: dict[str, Any], notes: list[Finding]) -> None:
        self.name = name
        self.data = data
        self._notes = notes

    def at(self, *keys: str) -> Any:
        """Return the value at a path of keys; None where there is none."""
        value: Any = self.data
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def text(self, *keys: str) -> str | None:
        """Return a text, at most 4,000 bytes of it; None for an empty one."""
        value = self.at(*keys)
        if value is None or isinstance(value, str):
            return (value or "").encode()[:MAX_TEXT_BYTES].decode(errors="ignore") or None
        self._unusable("a text", keys, value)
        return None

    def whole(self, *keys: str, least: int = 0, most: int = MAX_QUANTITY) -> int | None:
        """Return a whole number from `least` to `most`."""
        value = self.at(*keys)
        if type(value) is int and least <= value <= most:
            return value
        if value is not None:
            self._unusable(f"a whole number from {least} to {most}", keys, value)
        return None

    def number(self, *keys: str, least: float = 0, most: float) -> float | None:
        """Return a number from `least` to `most`."""
        value = self.at(*keys)
        if type(value) in {int, float} and least <= value <= most:
            return float(value)
        if value is not None:
            self._unusable(f"a number from {least:g} to {most:g}", keys, value)
        return None

    def moment_ms(self, *keys: str) -> int | None:
        """Return a time in ms since the epoch; one without a zone is UTC."""
        value = self.at(*keys)
        if value is None:
            return None
        if (moment := moment_of(value)) is not None:
            return moment
        self._unusable("a time after 1970 in ISO 8601", keys, value)
        return None

    def note(self, code: str, message: str, *keys: str) -> None:
        """Note something that is not as it should be."""
        self._notes.append(warning(code, pointer(*keys), f"{self.name}: {message}"))

    def _unusable(self, wanted: str, keys: tuple[str, ...], value: object) -> None:
        self.note("bad_value", f"is {described(value)}, not {wanted}; taken as unknown", *keys)


def load(path: Path, name: str, notes: list[Finding]) -> Document | None:
    """Return the object in a file; None, with a note, where there is none that can be read."""
    data, where = None, ""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            code, why = "too_large", f"is larger than {MAX_FILE_BYTES >> 20} MB"
        else:
            content = path.read_bytes()
            data, found = read_json_text(content)
            code, why = "wrong_type", f"is {described(data)}, not an object"
            for first in (one for one in found if one.severity == "error"):
                data, code, why, where = None, first.code, first.message, first.pointer
                break
            if isinstance(data, dict) and b"\\ud" in content.lower():
                data = _characters(data)
    except OSError as exc:
        code, why = "not_readable", f"cannot be read ({exc.strerror})"
    except RecursionError:
        code, why, data = "too_deep", "is nested too deeply", None
    if isinstance(data, dict):
        return Document(name, data, notes)
    notes.append(error(code, where, f"{printable(name)}: {why}; passed over"))
    return None


def _characters(data: dict[str, Any]) -> Any:
    """Return the same with `?` for every half of a surrogate pair, which is no character."""
    text = json.dumps(data, ensure_ascii=False)
    return json.loads(text.encode("utf-8", "replace"))
