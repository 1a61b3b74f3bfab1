"""Where a shared lake is: a URL, and what reaches it.

Credentials are those of the environment and never part of a URL.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from schemas.errors import ConfigError, Problem, printable
from schemas.redact import redact

SCHEMES = {"file": (), "s3": ("AWS_",), "az": ("AZURE_",), "gs": ("GOOGLE_",)}
"""Of a URL, and what the names of the variables begin with that reach it."""

OPTIONS = {"timeout": "60s", "connect_timeout": "10s", "max_retries": "4", "retry_timeout": "90s"}
"""Of every request to a server of objects: what is slow or cut ends in minutes, not in hours."""


@dataclass(frozen=True)
class Location:
    """A shared lake by its URL."""

    url: str
    """Without a slash at its end."""
    scheme: str

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of this machine, or one that is mounted."""
        return self.scheme == "file"

    @property
    def options(self) -> dict[str, str] | None:
        """What the library is told beside the variables of the environment."""
        return None if self.is_local else dict(OPTIONS)

    def table(self, name: str) -> str:
        """Return where a table is, as the library takes it."""
        if self.is_local:
            return str(Path(unquote(urlsplit(self.url).path)) / name)
        return f"{self.url}/{name}"


def location_of(text: str) -> Location:
    """Return a shared lake by its URL, such as `s3://bucket/lake` or `file:///mnt/lake`.

    Raises:
        ConfigError: it is none, or has a name or password in it.
    """
    parts = urlsplit(text)
    if parts.scheme not in SCHEMES:
        known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        shown = f"{printable(parts.scheme)}://..." if "://" in text else printable(redact(text))
        what = f"`{shown}` is no URL of a shared lake, which begins with {known}"
        raise ConfigError([Problem(None, what)])
    if "@" in text or ":" in parts.netloc or parts.query or parts.fragment:
        variables = " and ".join(f"{one}*" for one in SCHEMES[parts.scheme])
        read = f"; credentials are read from {variables}" if variables else ""
        what = f"a URL {parts.scheme}://... of a shared lake has no name, password or query{read}"
        raise ConfigError([Problem(None, what)])
    place = parts.path if parts.scheme == "file" else parts.netloc
    if not place.strip("/") or (parts.scheme == "file" and parts.netloc):
        example = "file:///mnt/lake" if parts.scheme == "file" else f"{parts.scheme}://bucket/lake"
        what = f"`{printable(text)}` names no place; a URL is such as {example}"
        raise ConfigError([Problem(None, what)])
    return Location(text.rstrip("/"), parts.scheme)


def require_library() -> None:
    """Refuse what needs a shared lake where the library of one is not installed.

    Raises:
        ConfigError: says what to install.
    """
    if importlib.util.find_spec("deltalake") is None:
        what = "a shared lake needs more packages: pip install 'benchlake[share]'"
        raise ConfigError([Problem(None, what)])
