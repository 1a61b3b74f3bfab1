"""Where a wrong line costs data or a verdict, and which tests are near it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Room:
    """Files that do one thing, and the tests that reach them through commands."""

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    weight: int = 1


COLLECT, SCHEMAS, ANALYZE, WHOLE = "collect", "schemas", "analyze", "end_to_end"


def tests_of(folder: str, names: str) -> tuple[str, ...]:
    """Return the files of some tests, wherever they stand below a folder of tests."""
    return tuple(
        path.relative_to(HERE).as_posix()
        for name in names.split()
        for path in (HERE / "tests" / folder).rglob(f"test_{name}.py")
    )


ROOMS = (
    Room(
        "execute",
        ("collect/execute/executor.py",),
        tests_of(COLLECT, "retries interrupts budget run_trouble warm_up run resume"),
    ),
    Room(
        "finished", ("collect/run_folder/finished.py",), tests_of(COLLECT, "finished budget resume")
    ),
    Room(
        "repair",
        ("collect/run_folder/repair.py",),
        tests_of(COLLECT, "repair log stored_inputs resume") + tests_of(WHOLE, "crash"),
    ),
    Room(
        "reuse", ("collect/run_folder/reuse.py",), tests_of(COLLECT, "reuse stored_inputs resume")
    ),
    Room(
        "log",
        ("collect/run_folder/log.py",),
        tests_of(COLLECT, "log run_trouble stored_inputs")
        + tests_of(WHOLE, "small_disk")
        + tests_of(COLLECT, "mirror_child run resume"),
    ),
    Room(
        "outcome",
        ("collect/execute/outcome.py",),
        tests_of(COLLECT, "outcome checks unevaluable pricing ignored server_quirks run")
        + tests_of(WHOLE, "keys"),
    ),
    Room(
        "swap",
        ("schemas/lake/transaction.py",),
        tests_of(SCHEMAS, "prune lake_files compact")
        + tests_of(ANALYZE, "aliases sync")
        + tests_of(WHOLE, "lake_writers"),
    ),
    Room(
        "rewrite",
        ("schemas/lake/rewrite.py",),
        tests_of(SCHEMAS, "prune compact") + tests_of(ANALYZE, "sync"),
    ),
    Room(
        "reconcile",
        ("schemas/lake/recover.py", "schemas/lake/log_coverage.py"),
        tests_of(SCHEMAS, "prune lake_files mirror compact")
        + tests_of(ANALYZE, "sync import_command"),
    ),
    Room(
        "redact",
        ("schemas/redact.py",),
        tests_of(COLLECT, "outcome stored_inputs child_environment doctor_endpoints run_trouble")
        + tests_of(SCHEMAS, "redaction")
        + tests_of(ANALYZE, "hostile_imports")
        + tests_of(WHOLE, "keys"),
    ),
    Room(
        "statistics",
        ("analyze/stats/*.py",),
        tests_of(
            ANALYZE,
            "statistics_again summary_rules nights_apart planned_sizes power two_runs "
            "one_number rate_test compared_independently power_command level_shifts regressions "
            "simulated",
        ),
        weight=2,
    ),
    Room(
        "verdicts",
        (
            "analyze/api/verdicts.py",
            "analyze/gate/decide.py",
            "analyze/gate/rules.py",
            "analyze/comparison/verdict.py",
        ),
        tests_of(
            ANALYZE,
            "api_verdicts gate_verdicts compare known_files two_runs gate_baselines gate_memory "
            "gate_command",
        ),
    ),
    Room("guard", ("analyze/sql/guard.py",), tests_of(ANALYZE, "guard sql_command api")),
)


def files_of(room: Room) -> list[str]:
    return sorted(
        str(path.relative_to(HERE)) for pattern in room.files for path in HERE.glob(pattern)
    )


def is_in(room: Room, file: str) -> bool:
    return any(Path(file).match(pattern) for pattern in room.files)


def tests_near(file: str) -> list[str]:
    """Return the files of tests for a module: those that name it, then those of its room."""
    module = file.removesuffix(".py").replace("/", ".")
    package, _, stem = module.rpartition(".")
    named = re.compile(
        rf"\b{re.escape(module)}\b|from {re.escape(package)} import [^\n]*\b{stem}\b"
    )
    tests = sorted(
        (path for path in (HERE / "tests").rglob("test_*.py")),
        key=lambda path: (path.stem != f"test_{stem}", path.stat().st_size),
    )
    near = [
        str(path.relative_to(HERE))
        for path in tests
        if path.stem == f"test_{stem}" or named.search(path.read_text())
    ]
    room = next((room.tests for room in ROOMS if is_in(room, file)), ())
    return list(dict.fromkeys([*near, *(name for name in room if (HERE / name).exists())]))
