"""Deterministic checks: what a case may ask of a finished trial without a model to judge it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from schemas.base import Count, NonEmpty, Record, RecordOf, Slug, exactly_one, require
from schemas.failures import TrialStatus
from schemas.registry import Registry

Dimension = Literal["task", "process", "autonomy", "closeness", "efficiency", "spark"]


def _stays(path: str) -> str:
    """Refuse a relative path that climbs out of the folder it is looked up in."""
    depth = 0
    for part in PurePosixPath(path).parts:
        depth += -1 if part == ".." else 1
        require(depth >= 0, "leaves the case's folder and the workspace")
    require("\0" not in path, "holds a NUL")
    return path


def _is_relative(path: str) -> str:
    is_relative = not (PurePosixPath(path).is_absolute() or path.startswith("~"))
    require(is_relative, "must be relative: it is looked up in the workspace")
    return path


CheckPath = Annotated[NonEmpty, AfterValidator(_stays)]
"""Relative: in the workspace, then beside test.yaml; absolute: as the sandbox sees it."""

WorkspacePath = Annotated[NonEmpty, AfterValidator(_stays), AfterValidator(_is_relative)]
PythonName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
ModulePath = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$")
]


class CheckRecord(Record):
    """What a case says of one declarative check, whose name is the value of the field `kind`."""

    if TYPE_CHECKING:
        kind: str


class FinalResponsePresent(CheckRecord):
    """The trial ended with text."""

    kind: Literal["final_response_present"]


class ToolCallCount(CheckRecord):
    """Exactly so many tools were called."""

    kind: Literal["tool_call_count"]
    count: Count


class FileExists(CheckRecord):
    """A file is there: in the trial's workspace, else beside test.yaml."""

    kind: Literal["file_exists"]
    path: CheckPath


class FileContains(CheckRecord):
    """A file is there and holds this text."""

    kind: Literal["file_contains"]
    path: CheckPath
    text: str


class PathExists(CheckRecord):
    """A file or folder is there."""

    kind: Literal["path_exists"]
    path: CheckPath


class StatusIs(CheckRecord):
    """The trial ended with this status."""

    kind: Literal["status_is"]
    status: TrialStatus


class OutputArtifactPresent(CheckRecord):
    """The trial recorded an output artifact that matches every field given; none: any at all."""

    kind: Literal["output_artifact_present"]
    artifact_id: Slug | None = None
    artifact_type: Slug | None = None
    uri: NonEmpty | None = None


class WorkspaceFilePresent(CheckRecord):
    """The diff of an agent's workspace has a file, perhaps with this content."""

    kind: Literal["openclaw_workspace_file_present"]
    relative_path: WorkspacePath
    contains: str | None = Field(default=None, description="This text, letter by letter.")
    contains_all: tuple[str, ...] = Field(default=(), description="All, without case and accents.")
    contains_any: tuple[str, ...] = Field(default=(), description="One, without case and accents.")

    @model_validator(mode="after")
    def _one_style(self) -> WorkspaceFilePresent:
        is_alone = self.contains is None or not (self.contains_all or self.contains_any)
        require(is_alone, "`contains` cannot stand beside contains_all or _any")
        return self


@dataclass(frozen=True)
class CheckSpec:
    """What may be written of a kind of check, and what makes it."""

    record: type[CheckRecord]
    """Its field `kind` is a `Literal` of the name."""
    run: str | Callable[[Any, Any], tuple[bool, str | None]]
    """Takes a record and a `Trial` (of `collect.checks.left`), returns whether it passed and
    what was found where not, and raises an `OSError` or `ValueError` where it cannot look; or
    where it stands, as `module:attribute`."""
    dimensions: tuple[Dimension, ...] = ()
    """Those of a check that names none (D-E14)."""
    needs_files: bool = False
    """It looks into the trial's workspace, or beside test.yaml for what its field `path` names."""


_IN = "collect.checks.kinds"

CHECKS = Registry(
    "checks",
    CheckSpec,
    {
        "final_response_present": CheckSpec(FinalResponsePresent, f"{_IN}:answered", ("process",)),
        "tool_call_count": CheckSpec(ToolCallCount, f"{_IN}:called", ("process", "efficiency")),
        "file_exists": CheckSpec(FileExists, f"{_IN}:file_exists", ("task",), needs_files=True),
        "file_contains": CheckSpec(FileContains, f"{_IN}:contains", ("task",), needs_files=True),
        "path_exists": CheckSpec(PathExists, f"{_IN}:path_exists", ("task",), needs_files=True),
        "status_is": CheckSpec(StatusIs, f"{_IN}:ended", ("process",)),
        "output_artifact_present": CheckSpec(
            OutputArtifactPresent, f"{_IN}:artifact_present", ("task",), needs_files=True
        ),
        "openclaw_workspace_file_present": CheckSpec(
            WorkspaceFilePresent, f"{_IN}:changed_file", needs_files=True
        ),
    },
)
"""Every kind of declarative check, by name; a new one is a file and an entry."""

DeclarativeCheck = Annotated[CheckRecord, RecordOf(CHECKS, "kind")]


class PythonHook(Record):
    """A callable of the user's that judges the trial; runs only where the policy allows it."""

    path: WorkspacePath | None = Field(default=None, description="Relative to test.yaml.")
    import_path: ModulePath | None = Field(default=None, description="Dotted path of a module.")
    callable_name: PythonName

    _one_place = exactly_one("path", "import_path")


class DeterministicCheck(Record):
    """One entry of `deterministic_checks`."""

    check_id: Slug = Field(description="Unique within the case.")
    description: str | None = Field(
        default=None, description="Stands before what was found, when the check fails."
    )
    dimensions: tuple[Dimension, ...] = Field(
        default=(), description="Dimensions it speaks for; left out, those of its kind."
    )
    declarative: DeclarativeCheck | None = None
    python_hook: PythonHook | None = None

    _one_kind = exactly_one("declarative", "python_hook")

    @property
    def kind(self) -> str:
        """Return the kind of a declarative check, or `python_hook`."""
        return "python_hook" if self.declarative is None else self.declarative.kind
