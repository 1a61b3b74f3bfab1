"""Hooks: callables of the user's own that judge a trial, each look a process in the sandbox.

`Hooks` is what a run and a later look ask; `HookSubject` is what they tell it of a trial.
"""

from __future__ import annotations

from collect.hooks.answers import REASONS
from collect.hooks.artifact import HookError, HookSubject, OutputArtifact
from collect.hooks.hooks import Hooks, HooksProblem
from collect.hooks.interpreter import Python

__all__ = [
    "REASONS",
    "HookError",
    "HookSubject",
    "Hooks",
    "HooksProblem",
    "OutputArtifact",
    "Python",
]
