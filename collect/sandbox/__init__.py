"""Commands of a model, locked in: a helper process starts them, watches them and ends them.

The helper loads this as well, so each name is imported when it is first asked for. Whether a
sandbox holds on this machine is found out by `collect.sandbox.probe`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collect.sandbox.backends import backend_of
    from collect.sandbox.base import Backend, Command, Completed, Folders, Output, SandboxError
    from collect.sandbox.bwrap import Bwrap
    from collect.sandbox.client import Sandbox

__all__ = [
    "Backend",
    "Bwrap",
    "Command",
    "Completed",
    "Folders",
    "Output",
    "Sandbox",
    "SandboxError",
    "backend_of",
]

_HOMES = {"Bwrap": "bwrap", "Sandbox": "client", "backend_of": "backends"}
"""Where a name is defined that is not in `base`."""


def __getattr__(name: str) -> Any:
    """Return one of the names; nothing is loaded before."""
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'base')}"), name)
