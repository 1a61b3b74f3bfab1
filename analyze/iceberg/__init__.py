"""The lake's files in a catalog of Iceberg, for engines that read tables by one."""

from __future__ import annotations

import importlib.util

from schemas.errors import ConfigError, Problem


def require_iceberg() -> None:
    """Refuse what needs Iceberg where its library is not installed.

    Raises:
        ConfigError: says what to install.
    """
    if any(importlib.util.find_spec(name) is None for name in ("pyiceberg", "sqlalchemy")):
        what = "a catalog of Iceberg needs more packages: pip install 'benchlake[iceberg]'"
        raise ConfigError([Problem(None, what)])
