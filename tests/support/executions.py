"""Executions as runners leave them: what a test does not name is as it is after one request."""

from dataclasses import fields

from collect.providers.base import Outcome
from collect.runners.base import Execution

OUTCOME = {field.name for field in fields(Outcome)}


def executed(trial, case, outcome=None, **named):
    """Return a trial as it was executed, with what came of it."""
    came = {name: named.pop(name) for name in OUTCOME & named.keys()}
    usual = {"started_at_ms": 0, "ended_at_ms": 0, "trace": []}
    return Execution(trial=trial, case=case, outcome=outcome or Outcome(**came), **usual | named)
