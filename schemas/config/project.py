"""The project file `benchlake.yaml`: thresholds, prices and hosts; all of it optional."""

from __future__ import annotations

import re
from collections import Counter
from typing import Annotated

from pydantic import AfterValidator, Field, field_validator
from pydantic_core import PydanticCustomError

from schemas.base import Record, SchemaVersion
from schemas.config.prices import Price
from schemas.thresholds import Thresholds

HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?|[0-9a-f]*:[0-9a-f:.]+")


def _host(text: str) -> str:
    """Return a host name in lower case; a URL, a port or a wild card is none."""
    if not HOST.fullmatch(host := text.lower()):
        kind, message = "host", "must be a host name alone, without scheme, port or path"
        raise PydanticCustomError(kind, message)
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
        default=(), description="Hosts that may get a key of their own, as by --allow-host."
    )

    @field_validator("prices")
    @classmethod
    def _one_price_a_day(cls, prices: tuple[Price, ...]) -> tuple[Price, ...]:
        for (model, day), count in Counter((p.model, p.valid_from) for p in prices).items():
            if count > 1:
                kind, message = "prices", f"{count} prices of `{model}` begin on {day}"
                raise PydanticCustomError(kind, message)
        return prices
