"""A run profile: how the requests of a run are made, how often, and within which time.

Time-outs of the older tool are recognised by their duration, since it records them as `exception`,
like a refused connection. A refused connection fails at once; a request that ended just at the
limit timed out. Its config.json has the limit of its last start; for rows without it, and runs that
were resumed with another one, the limit is inferred: several exceptions that took the same multiple
of ten seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import orjson
from pydantic import Field, model_validator

from schemas.base import (
    Count,
    NonEmpty,
    Positive,
    Record,
    SchemaVersion,
    Slug,
    Unit,
    require,
)
from schemas.config.sandbox import (
    DEFAULT_SANDBOX,
    IMAGE_PATTERN,
    PINNED,
    SandboxLimits,
    SandboxProfile,
    is_pinned,
)

MAX_LATE_MS = 1_000
"""How long after its limit a request that timed out may have ended."""

ROUND_MS = 10_000
"""An inferred limit is a multiple of it."""

MAX_DISTANCE_MS = 250
"""How near to such a multiple exceptions have to end for it to be taken as their limit."""

MIN_ALIKE = 2
"""Exceptions that have to end there."""


class RunnerSettings(Record):
    """What a request is sent with; a setting left out is the server's own default."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_tokens: Positive | None = None
    seed: int | None = Field(default=None, description="Sent as it is with every repetition.")
    seed_per_repetition: bool | None = Field(
        default=None, description="Repetition r is sent `seed` + r - 1, so that samples differ."
    )
    timeout_seconds: Annotated[int, Field(ge=1), Unit("s")] | None = Field(
        default=None, description="Wall clock of one request."
    )
    retries: Count | None = Field(default=None, description="Repeats after a transient failure.")
    max_turns: Positive | None = Field(
        default=None, description="Tool-use turns before a final answer is forced."
    )
    stream: bool | None = Field(default=None, description="Needed for the time to first token.")


class ProfileSettings(RunnerSettings):
    """Settings of a whole profile or of one model, never of a single case."""

    transport: Literal["builtin", "httpx"] | None = Field(
        default=None, description="`httpx`: HTTP/2 and proxies, at a price in true latencies."
    )


DEFAULT_SETTINGS = ProfileSettings(
    seed_per_repetition=False,
    timeout_seconds=30,
    retries=5,
    max_turns=8,
    stream=True,
    transport="builtin",
)
"""D-E6; what is null here is left to the server."""


class ExecutionPolicy(Record):
    """How many at once, how often, and when to stop."""

    max_concurrency: Positive = 1
    run_repetitions: Positive = 1
    fail_fast: bool = Field(default=False, description="Stop after the first trial that fails.")
    stop_on_runner_error: bool = Field(
        default=True, description="Stop a model after an error no retry can mend."
    )


DEFAULT_AGENT_LIMITS = SandboxLimits(
    command_seconds=3_600,
    cpu_seconds=3_600,
    memory_mb=2_000,
    processes=256,
    file_mb=200,
    workspace_mb=1_000,
    workspace_files=50_000,
)
"""An agent is a program of its own, with the tools that it starts."""

AgentNetwork = Literal["endpoint", "bridge", "host"]


class AgentRunProfile(Record):
    """Where and how long agents run."""

    agent_id: Slug = Field(description="The folder below configs/agents.")
    executable: Literal["container", "local"] = Field(
        default="container",
        description="`local`: what is installed here, locked in by bwrap.",
    )
    image: Annotated[str, Field(pattern=IMAGE_PATTERN)] | None = Field(
        default=None,
        description="OCI image that holds the agent, by digest or by a tag other than `latest`; "
        "it is here before the run begins.",
    )
    timeout_seconds: Annotated[int, Field(ge=1), Unit("s")] = Field(
        description="Wall clock of all turns of a trial together."
    )
    turn_timeout_seconds: Annotated[int, Field(ge=1), Unit("s")] | None = Field(
        default=None, description="Of one turn; null: what is left."
    )
    docker_cli: Literal["docker", "podman"] = Field(
        default="docker", description="What runs containers."
    )
    network: AgentNetwork = Field(
        default="endpoint",
        description="`endpoint`: nothing but the model; `bridge`, `host`: the engine's networks.",
    )
    limits: SandboxLimits = Field(
        default=DEFAULT_AGENT_LIMITS, description="Of one turn, with all that the agent starts."
    )

    @model_validator(mode="after")
    def _is_runnable(self) -> AgentRunProfile:
        is_local = self.executable == "local"
        require(is_local or self.image is not None, "needs an `image`, or `executable: local`")
        require(not is_local or self.image is None, "`image` is not for `executable: local`")
        require(self.image is None or is_pinned(self.image), PINNED)
        require(
            not (is_local and self.network == "bridge"),
            "`network: bridge` is a container's; `executable: local` has `endpoint` and `host`",
        )
        require(not (is_local and self.limits.cores is not None), "`cores` is for containers")
        return self


class CommandRunProfile(AgentRunProfile):
    """Where and how long agents by configuration run."""

    programs: tuple[Annotated[str, Field(pattern=r"^[/~]")], ...] = Field(
        default=(),
        description="With `executable: local`: files and folders of this machine, beside /usr, "
        "that an agent finds at the same place, read-only, and on its PATH.",
    )

    @model_validator(mode="after")
    def _has_programs(self) -> CommandRunProfile:
        is_local = self.executable == "local"
        require(is_local or not self.programs, "`programs` is for `executable: local`")
        return self


class RunProfile(Record):
    """One `configs/run_profiles/<run_profile_id>.yaml`."""

    schema_version: SchemaVersion
    run_profile_id: Slug
    title: NonEmpty
    runner_defaults: ProfileSettings = Field(default_factory=ProfileSettings)
    model_overrides: dict[Slug, ProfileSettings] = Field(default_factory=dict)
    execution_policy: ExecutionPolicy = Field(default_factory=ExecutionPolicy)
    openclaw: AgentRunProfile | None = Field(
        default=None, description="Needed by suites with openclaw cases."
    )
    agent: CommandRunProfile | None = Field(
        default=None, description="Needed by suites with command cases."
    )
    sandbox: SandboxProfile = Field(
        default=DEFAULT_SANDBOX, description="Where commands of a model are locked in."
    )


def limit_of_config(run_dir: Path) -> int | None:
    """Return the time limit of a run of the older tool, in ms; None where nobody wrote it down."""
    try:
        config = orjson.loads((run_dir / "config.json").read_bytes())
    except (OSError, ValueError):
        return None
    seconds = config.get("timeout_s") if isinstance(config, dict) else None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    return round(seconds * 1000) if 0 < seconds < 1e9 else None


def shared_limits(times_ms: Iterable[int]) -> frozenset[int]:
    """Return the limits that the times of requests show which ended in an exception, in ms."""
    near = Counter(time - time % ROUND_MS for time in times_ms if time % ROUND_MS < MAX_DISTANCE_MS)
    return frozenset(limit for limit, n in near.items() if limit and n >= MIN_ALIKE)


def is_at_limit(time_ms: int | None, limits_ms: Iterable[int]) -> bool:
    """Return whether a request ended when one of the limits was reached: never before it."""
    return time_ms is not None and any(0 <= time_ms - limit <= MAX_LATE_MS for limit in limits_ms)
