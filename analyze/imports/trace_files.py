"""Traces of an imported run: a frame of artifacts/<model_id>.jsonl.zst each, as a collector's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from schemas.io.files import sync_path
from schemas.run.trace import Artifact, artifact_frame

FOLDER = "artifacts"


class TraceFiles:
    """Writes traces into a run folder that is being made.

    Args:
        run_dir: the folder.
    """

    def __init__(self, run_dir: Path) -> None:
        self._folder = run_dir / FOLDER
        self._files: dict[str, BinaryIO] = {}

    def add(self, artifact: Artifact) -> str:
        """Append one trace and return `file#offset`, where it will be found.

        Raises:
            OSError: the disk is full.
        """
        model_id = artifact.model_id
        if model_id not in self._files:
            self._folder.mkdir(exist_ok=True)
            self._files[model_id] = (self._folder / f"{model_id}.jsonl.zst").open("wb")
        file = self._files[model_id]
        place = f"{FOLDER}/{model_id}.jsonl.zst#{file.tell()}"
        file.write(artifact_frame(artifact.model_dump()))
        return place

    def close(self) -> None:
        """Wait until every trace is on the disk."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
            file.close()
        if self._files:
            sync_path(self._folder)
