"""What an evaluation is called in Every Eval Ever, and where its files lie.

All of it is derived from suite, model and start of a run, so a second export has the same names.
Model strings are somebody else's text: no part of a path is taken over before it is clean.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from schemas.redact import redact, spelled

UNPORTABLE = re.compile(r'[<>"\\|?*/\s]')
"""What no folder is called everywhere; a colon is kept in ids and replaced in paths."""

DEVICES = frozenset(
    {"CON", "PRN", "AUX", "NUL"} | {f"{name}{n}" for name in ("COM", "LPT") for n in range(1, 10)}
)
"""Names of Windows that are no folders, whatever stands behind a dot."""

RESERVED = frozenset({"data", "unknown"})
"""Names that the format keeps for itself, or takes for no name."""

MAX_BYTES = 120
"""Of one part of a path, of the 255 that file systems allow."""

MODELS_OF = {"api.openai.com": "openai", "api.anthropic.com": "anthropic"}
"""Services that serve the models of their own developer alone, by host."""

UNATTRIBUTED = "unattributed"
"""Developer of a model of which nothing but a bare name is known."""


def part(text: str) -> str:
    """Return a text as one part of a path that is safe everywhere, colons apart."""
    clean = UNPORTABLE.sub("_", spelled(redact(text).strip(), lambda _: "_")) or "_"
    if clean.endswith(".") or clean.lower() in RESERVED:
        clean += "_"
    if clean.replace(":", "_").partition(".")[0].upper() in DEVICES:
        clean = f"_{clean}"
    return _short(clean)


def _short(text: str) -> str:
    raw = text.encode()
    if len(raw) <= MAX_BYTES:
        return text
    return f"{raw[:MAX_BYTES].decode(errors='ignore')}-{hashlib.sha256(raw).hexdigest()[:8]}"


def model_id_of(model: str, provider: str, host: str | None = None) -> str:
    """Return `developer/model`.

    The developer is whom the model string names, else the one whose service was asked, else the
    provider.

    Args:
        model: the model string, as requested.
        provider: the transport; empty where nobody knows it.
        host: of the address that was asked.
    """
    named = [part(one) for one in model.split("/") if one.strip()]
    if len(named) < 2:
        developer = MODELS_OF.get(host or "") or provider.partition("/")[0] or UNATTRIBUTED
        return f"{part(developer)}/{named[0] if named else '_'}"
    developer, *rest = named
    if len("/".join(rest).encode()) > MAX_BYTES:
        rest = [_short("_".join(rest))]
    return "/".join((developer, *rest))


def seconds_of(at_ms: int | None) -> str:
    """Return a moment in seconds since 1970 as text, with milliseconds where there are any."""
    seconds, ms = divmod(at_ms or 0, 1000)
    return f"{seconds}.{ms:03}" if ms else str(seconds)


@dataclass(frozen=True)
class Place:
    """One evaluation: of one model, in one run."""

    suite: str
    model: str
    """As `model_id_of` has it."""
    started_at_ms: int | None
    apart: str = ""
    """What tells models apart that are called the same; empty where no other one is."""

    @property
    def timestamp(self) -> str:
        """When it was run, in seconds since 1970."""
        return seconds_of(self.started_at_ms)

    @property
    def evaluation_id(self) -> str:
        """Of the evaluation, in all of its files."""
        last = f"{self.timestamp}-{self.apart}" if self.apart else self.timestamp
        return f"{part(self.suite)}/{self.model}/{last}"

    @property
    def stem(self) -> str:
        """Path of both files without their endings, from the root of the data."""
        developer, _, name = self.model.replace(":", "_").partition("/")
        digest = hashlib.sha256(self.evaluation_id.encode()).digest()
        uuid = UUID(bytes=digest[:16], version=4)
        collection = part(self.suite).replace(":", "_")
        return f"data/{collection}/{developer}/{name.replace('/', '_')}/{uuid}"


def places_of(
    suite: str, models: Sequence[tuple[str, str]], started_at_ms: int | None
) -> dict[str, Place]:
    """Return the place of every model of a run by its model_id.

    Args:
        suite: the run's suite.
        models: of each its model_id, and what `model_id_of` calls it.
        started_at_ms: of the run; None where nobody knows it.
    """
    names = [name for _, name in models]
    return {
        model_id: Place(suite, name, started_at_ms, model_id if names.count(name) > 1 else "")
        for model_id, name in models
    }
