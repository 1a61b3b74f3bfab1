"""What is fuzzed: each target takes bytes and fails where a promise about them is broken."""

import importlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Target:
    """One reader, and what one input may cost."""

    name: str
    module: str
    cpu_s: float = 10.0
    """Of one input."""
    memory_mb: int = 300
    """That one input may add."""

    @cached_property
    def _loaded(self):
        return importlib.import_module(f"tests.fuzz.{self.module}")

    @property
    def check(self):
        return self._loaded.check

    @property
    def words(self):
        words = getattr(self._loaded, "words", None)
        return self._loaded.WORDS if words is None else words()

    def close(self):
        """Remove what the target made for all its inputs."""
        getattr(self._loaded, "close", bool)()

    def corpus(self):
        """Return the inputs that others are made of: the stored ones, and the module's own."""
        stored = [path.read_bytes() for path in self.files()]
        return stored + getattr(self._loaded, "MORE", [])

    def files(self):
        return sorted(path for path in (CORPUS / self.name).iterdir() if path.is_file())


TARGETS = {
    target.name: target
    for target in (
        Target("events", "events"),
        Target("http", "wire", memory_mb=900),
        Target("log", "log"),
        Target("traces", "traces", memory_mb=900),
        Target("yaml", "yaml_files"),
        Target("sql", "queries", memory_mb=1500),
    )
}
