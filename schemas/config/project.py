"""The project file `benchlake.yaml`: thresholds, prices, hosts and tools; all of it optional.

A project without one has the packaged defaults. Thresholds are where a number becomes a verdict;
their defaults stand here and nowhere else.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, field_validator, model_validator

from schemas.base import Rate, Record, SchemaVersion, require
from schemas.config.prices import Price, PriceTable
from schemas.config.tools import ToolSettings, WebSearchSettings

Chance = Annotated[float, Field(gt=0, lt=1)]

HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?|[0-9a-f]*:[0-9a-f:.]+")

NAME = "benchlake.yaml"


class Thresholds(Record):
    """`thresholds:` of benchlake.yaml; what is left out keeps its default."""

    pass_rate_margin: Chance = Field(
        default=0.05, description="Pass rates this close (0.05: 5 points) are the same in practice."
    )
    ratio_margin: Chance = Field(
        default=0.10,
        description="Times and costs this close (0.10: 0.90 to 1.10) are the same in practice.",
    )
    min_coverage: Rate = Field(
        default=0.95,
        description="Share of scorable trials with a verdict below which numbers carry a warning.",
    )
    timeout_warning_share: Rate = Field(
        default=0.05, description="Share of time-outs above which numbers carry a warning."
    )
    truncation_warning_share: Rate = Field(
        default=0.01,
        description="Share of answers cut off at a limit above which numbers carry a warning.",
    )
    alpha: Chance = Field(default=0.05, description="Two-sided chance of a false alarm.")
    power: Chance = Field(
        default=0.80, description="Chance of showing a difference, when a run is planned."
    )
    min_calibration: Rate | None = Field(
        default=None,
        description="Lower limit of sensitivity + specificity - 1 of judges against labels of "
        "people below which a gate refuses their verdicts; null: none is asked for.",
    )
    tier_1_from: Rate = Field(default=0.80, description="Tool-use rate from which tier 1 begins.")
    tier_2_from: Rate = Field(default=0.50, description="Tool-use rate from which tier 2 begins.")

    @model_validator(mode="after")
    def _tiers_fall(self) -> Thresholds:
        is_falling = self.tier_2_from <= self.tier_1_from
        require(is_falling, "`tier_2_from` must not be above `tier_1_from`")
        return self


def _host(text: str) -> str:
    """Return a host name in lower case; a URL, a port or a wild card is none."""
    is_host = HOST.fullmatch(host := text.lower()) is not None
    require(is_host, "must be a host name alone, without scheme, port or path")
    return host


Host = Annotated[str, AfterValidator(_host)]


class ProjectFile(Record):
    """One `benchlake.yaml`, for all runs started in its folder or below."""

    schema_version: SchemaVersion
    thresholds: Thresholds = Field(default_factory=Thresholds)
    prices: tuple[Price, ...] = Field(
        default=(), description="Looked through before the packaged prices."
    )
    allowed_hosts: tuple[Host, ...] = Field(
        default=(),
        description="Hosts that may get a key of their own, or be searched, as by --allow-host.",
    )
    tools: ToolSettings = Field(default_factory=ToolSettings)

    @field_validator("prices")
    @classmethod
    def _one_price_a_day(cls, prices: tuple[Price, ...]) -> tuple[Price, ...]:
        for (model, day), count in Counter((p.model, p.valid_from) for p in prices).items():
            require(count == 1, f"{count} prices of `{model}` begin on {day}")
        return prices


@dataclass(frozen=True, slots=True)
class LoadedProject:
    """What holds for every run of a project; `path` and `sha256` say which file was used."""

    path: Path | None = None
    sha256: str | None = None
    thresholds: Thresholds = field(default_factory=Thresholds)
    prices: PriceTable = field(default_factory=PriceTable)
    """The packaged prices behind the file's own are read when the first one is asked for."""
    allowed_hosts: tuple[str, ...] = ()
    """Lower case, sorted."""
    web_search: WebSearchSettings | None = None
    """Whether its host may be asked is for `collect.config.tools` to say."""


def find_project_file(working_dir: Path) -> Path | None:
    """Return the nearest benchlake.yaml from a folder upward, not above a folder with `.git`.

    A link that leads nowhere is found too, so that it is reported rather than passed over.
    """
    start = working_dir.absolute()
    for folder in (start, *start.parents):
        path = folder / NAME
        if path.exists() or path.is_symlink():
            return path
        if (folder / ".git").exists():
            return None
    return None


def load_project_file(working_dir: Path) -> LoadedProject:
    """Return the project's thresholds, prices, hosts and tools, the defaults without a file.

    Raises:
        ConfigError: every problem of the file, each with its line.
    """
    path = find_project_file(working_dir)
    if path is None:
        return LoadedProject()
    from schemas.io.validation import parse  # noqa: PLC0415 - most who know limits read no file
    from schemas.io.yaml import read_yaml  # noqa: PLC0415 - as above

    source = read_yaml(path)
    content = parse(ProjectFile, source)
    return LoadedProject(
        path=path,
        sha256=source.sha256,
        thresholds=content.thresholds,
        prices=PriceTable(content.prices),
        allowed_hosts=tuple(sorted(set(content.allowed_hosts))),
        web_search=content.tools.web_search,
    )
