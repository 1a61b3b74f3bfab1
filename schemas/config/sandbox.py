"""Where commands of a model are locked in, and how much of the machine each may take (D-H1)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.base import Positive, Record, Unit, require

BackendName = Literal["bwrap", "podman", "docker"]

CONTAINER_ENGINES: tuple[BackendName, ...] = ("podman", "docker")

IMAGE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:/-]*(@sha256:[0-9a-f]{64})?$"

PINNED = "`image` must be pinned: name@sha256:… or name:tag, the tag not `latest`"

MB = 1_000_000


class SandboxLimits(Record):
    """What one command may take; more ends it, and the model is told."""

    command_seconds: Annotated[int, Field(ge=1), Unit("s")] = Field(
        default=30, description="Wall clock of one command."
    )
    cpu_seconds: Annotated[int, Field(ge=1), Unit("s")] = Field(
        default=30, description="Processor time of one process."
    )
    memory_mb: Positive = Field(default=1_000, description="Of all processes together.")
    processes: Positive = Field(default=64, description="At once, threads counted.")
    cores: Positive | None = Field(
        default=None, description="At once, in a container; null: all that are there."
    )
    file_mb: Positive = Field(default=100, description="Of one file.")
    workspace_mb: Positive = Field(
        default=500, description="Of all files that a trial has written, /tmp and home included."
    )
    workspace_files: Positive = Field(default=10_000, description="Files and folders of a trial.")
    output_mb: Positive = Field(
        default=64, description="Printed by one command; 64 KB of it are kept."
    )


class SandboxProfile(Record):
    """`sandbox:` of a run profile."""

    backend: BackendName = Field(
        default="bwrap", description="`podman` and `docker` need an `image`."
    )
    image: Annotated[str, Field(pattern=IMAGE_PATTERN)] | None = Field(
        default=None,
        description="OCI image in which commands run, by digest or by a tag other than `latest`; "
        "it has a /bin/sh, and is here before the run begins.",
    )
    limits: SandboxLimits = Field(default_factory=SandboxLimits)

    @model_validator(mode="after")
    def _image_of_an_engine(self) -> SandboxProfile:
        needs_image = self.backend in CONTAINER_ENGINES
        require(needs_image or self.image is None, "`image` is for `podman` and `docker`")
        require(not needs_image or self.image is not None, "`podman` and `docker` need an `image`")
        has_cores = self.limits.cores is not None
        require(needs_image or not has_cores, "`cores` is for `podman` and `docker`")
        require(self.image is None or is_pinned(self.image), PINNED)
        return self


def is_pinned(image: str) -> bool:
    """Return whether a name of an image means the same one tomorrow, as far as a name can."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return bool(digest) or tag not in {"", "latest"}


DEFAULT_SANDBOX = SandboxProfile()
