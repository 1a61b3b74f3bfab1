"""From the files a user wrote to the inputs of a run, every problem named by file and field."""

from __future__ import annotations

from collect.config.load import RunInputs, load_inputs, runnable
from collect.config.resolved import LoadedCase, ResolvedModel

__all__ = ["LoadedCase", "ResolvedModel", "RunInputs", "load_inputs", "runnable"]
