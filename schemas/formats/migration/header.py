"""Head of a migrated report: model, data set, times, configuration, name of the run.

The first of a field's names that has a value counts. A value that does not fit stays where it was,
and so is kept with everything else that has no place in v2. A report began when it says so, else
at the earliest time of its instances.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from schemas.base import Finding, error, pointer
from schemas.formats.migration.ledger import Ledger, fits, mismatch
from schemas.formats.report_v1 import V1Shape
from schemas.formats.report_v2 import REPORT_VERSION, EvaluationConfig
from schemas.formats.report_v2_instance import read_time

UNKNOWN_TIME = "1970-01-01T00:00:00Z"
"""The start of a report when neither the file nor anybody else says one."""

MODEL_KEYS = ("model_name", "model", "model_name_or_path")
START_KEYS = ("start_time", "created_at", "timestamp")
CONFIG_KEYS = ("evaluation_config", "config")
SETTINGS = ("tasks_file", "validation_mode")
"""Fields of a run file that are settings in v2."""

DATASETS: dict[V1Shape, str] = {"flat": "verified"}
"""What the older tool took for the data set where its file names none."""

UNKNOWN = "unknown"
GIVEN_TIME = "absent: the time that was given"
"""Note of a start that the file does not tell."""


def utc_text(moment: datetime) -> str:
    """Return a time as text in UTC with Z, to the second; one without a zone is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def earliest(texts: Iterable[str | None]) -> str | None:
    """Return the text of the earliest time; None where not all can be compared.

    Times with a zone and without one cannot be compared.
    """
    known = [text for text in texts if text]
    read = [(read_time(text), text) for text in known]
    times = [(time, text) for time, text in read if time is not None]
    zoned = {time.tzinfo is not None for time, _ in times}
    if len(times) < len(known) or len(zoned) != 1:
        return None
    return min(times)[1]


def compact(text: str) -> str:
    """Return a time as it stands in the name of a run: `20251229_143000`."""
    moment = read_time(text)
    if moment is not None:
        return moment.strftime("%Y%m%d_%H%M%S")
    return re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_")[:40] or "unknown"


class HeaderReader:
    """Takes the head of a report out of the fields of an older file."""

    def __init__(self, left: dict[str, Any], ledger: Ledger) -> None:
        """Make a reader of top-level fields; those that are taken over are removed."""
        self._left, self._ledger = left, ledger
        self.findings: list[Finding] = []
        """Mistakes that were met."""

    def read(
        self,
        shape: V1Shape,
        instances: list[dict[str, Any]],
        now: datetime | None,
        model_name: str | None,
    ) -> dict[str, Any]:
        """Return the fields of a report before its instances, whose times tell an absent start.

        `now` and `model_name` stand in for what nothing tells.
        """
        model = self._model(shape, model_name)
        dataset = self._dataset(shape)
        config = self._config()
        start = self._start(instances, now)
        run_id = self._text(("run_id",), "/run_id")
        if run_id is None:
            run_id = f"{model.replace('/', '-').replace(' ', '_')}-{compact(start)}"
            self._defaulted("run_id", "/run_id", "absent: model and start")
        return {
            "schema_version": REPORT_VERSION,
            "run_id": run_id,
            "model_name": model,
            "dataset": dataset,
            "start_time": start,
            "end_time": self._text(("end_time",), "/end_time"),
            "config": config,
        }

    def _model(self, shape: V1Shape, model_name: str | None) -> str:
        keys = MODEL_KEYS if shape != "task_files" else ()
        self._must_be_text(*keys)
        found = self._text(keys, "/model_name")
        if found is not None:
            return found
        note = f"absent: {model_name or UNKNOWN}" + (", as given" if model_name else "")
        self._defaulted("model_name", "/model_name", note)
        return model_name or UNKNOWN

    def _dataset(self, shape: V1Shape) -> str:
        self._must_be_text("dataset")
        found = self._text(("dataset",), "/dataset")
        if found is not None:
            return found
        tasks = self._left.get("tasks_file")
        stem = re.split(r"[\\/]", tasks)[-1].removesuffix(".json") if isinstance(tasks, str) else ""
        dataset = stem or DATASETS.get(shape, UNKNOWN)
        why = ", by the tasks file" if stem else ""
        self._defaulted("dataset", "/dataset", f"absent: {dataset}{why}")
        return dataset

    def _config(self) -> dict[str, Any]:
        """Return the configuration, with the settings that a run file has at its top."""
        config: dict[str, Any] = {}
        key = next(
            (key for key in CONFIG_KEYS if fits(EvaluationConfig, self._left.get(key))), None
        )
        if key is not None:
            config = self._left.pop(key)
            self._mapped(key, "/config")
        for name in SETTINGS:
            fits_there = name in self._left and isinstance(self._left[name], str | None)
            if fits_there and name not in config:
                config = config | {name: self._left.pop(name)}
                self._mapped(name, f"/config/{name}")
        if "functional_validation" not in config and "functional_validation" in self._left:
            given = self._left["functional_validation"]
            if not given or given is True:  # else a list with something left in it
                del self._left["functional_validation"]
            config = config | {"functional_validation": given is not None and given is not False}
            self._mapped("functional_validation", "/config/functional_validation")
        if not config:
            self._defaulted("config", "/config", "absent: empty")
        return config

    def _start(self, instances: list[dict[str, Any]], now: datetime | None) -> str:
        start = self._text(START_KEYS, "/start_time")
        if start is not None:
            return start
        start = earliest(one.get("start_time") for one in instances)
        if start is not None:
            self._defaulted("start_time", "/start_time", "absent: the earliest of the instances")
            return start
        note = GIVEN_TIME if now else "absent: unknown, written as 1970"
        self._defaulted("start_time", "/start_time", note)
        return utc_text(now) if now else UNKNOWN_TIME

    def _text(self, keys: tuple[str, ...], target: str) -> str | None:
        """Take the first of some fields that is a text and not empty."""
        for key in keys:
            value = self._left.get(key)
            if isinstance(value, str) and value:
                self._mapped(key, target)
                return str(self._left.pop(key))
        return None

    def _must_be_text(self, *keys: str) -> None:
        for key in keys:
            value = self._left.get(key)
            if not isinstance(value, str | None):
                message = mismatch(value, "text or null")
                self.findings.append(error("wrong_type", pointer(key), message))

    def _mapped(self, key: str, target: str) -> None:
        self._ledger.add("mapped", pointer(key), target)

    def _defaulted(self, key: str, target: str, note: str) -> None:
        self._ledger.add("defaulted", pointer(key), target, note)
