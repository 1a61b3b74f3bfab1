"""From the files a user wrote to the inputs of a run, every problem named by file and field."""

from __future__ import annotations

from collect.config.inputs import RunInputs, load_inputs, runnable
from collect.config.loaded import LoadedCase, ResolvedModel

__all__ = ["LoadedCase", "ResolvedModel", "RunInputs", "load_inputs", "runnable"]
