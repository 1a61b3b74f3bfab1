"""Deterministic checks: what a case may ask of a finished trial without a model to judge it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from schemas.base import Count, NonEmpty, Record, Slug, one_of_two, require
from schemas.failures import TrialStatus

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


class FinalResponsePresent(Record):
    """The trial ended with text."""

    kind: Literal["final_response_present"]


class ToolCallCount(Record):
    """Exactly so many tools were called."""

    kind: Literal["tool_call_count"]
    count: Count


class FileExists(Record):
    """A file is there: in the trial's workspace, else beside test.yaml."""

    kind: Literal["file_exists"]
    path: CheckPath


class FileContains(Record):
    """A file is there and holds this text."""

    kind: Literal["file_contains"]
    path: CheckPath
    text: str


class PathExists(Record):
    """A file or folder is there."""

    kind: Literal["path_exists"]
    path: CheckPath


class StatusIs(Record):
    """The trial ended with this status."""

    kind: Literal["status_is"]
    status: TrialStatus


class OutputArtifactPresent(Record):
    """The trial recorded an output artifact that matches every field given; none: any at all."""

    kind: Literal["output_artifact_present"]
    artifact_id: Slug | None = None
    artifact_type: Slug | None = None
    uri: NonEmpty | None = None


class WorkspaceFilePresent(Record):
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


DeclarativeCheck = Annotated[
    FinalResponsePresent
    | ToolCallCount
    | FileExists
    | FileContains
    | PathExists
    | StatusIs
    | OutputArtifactPresent
    | WorkspaceFilePresent,
    Field(discriminator="kind"),
]

DEFAULT_DIMENSIONS: dict[str, tuple[Dimension, ...]] = {
    "final_response_present": ("process",),
    "tool_call_count": ("process", "efficiency"),
    "file_exists": ("task",),
    "file_contains": ("task",),
    "path_exists": ("task",),
    "output_artifact_present": ("task",),
    "status_is": ("process",),
    "openclaw_workspace_file_present": (),
}
"""D-E14: the dimensions of a check that names none."""


class PythonHook(Record):
    """A callable of the user's that judges the trial; runs only where the policy allows it."""

    path: WorkspacePath | None = Field(default=None, description="Relative to test.yaml.")
    import_path: ModulePath | None = Field(default=None, description="Dotted path of a module.")
    callable_name: PythonName

    _one_place = one_of_two("path", "import_path")


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

    _one_kind = one_of_two("declarative", "python_hook")

    @property
    def kind(self) -> str:
        """Return the kind of a declarative check, or `python_hook`."""
        return "python_hook" if self.declarative is None else self.declarative.kind
