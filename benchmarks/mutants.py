"""Makes small wrong changes where a wrong line costs data or a verdict: which does a test see?

    python benchmarks/mutants.py                                  100 mutants over all rooms
    python benchmarks/mutants.py schemas/lake/transaction.py -n 20            20 of one file
    python benchmarks/mutants.py --write chosen.json              choose, and run nothing
    python benchmarks/mutants.py --list chosen.json --json        run a written list again

Each mutant stands alone in a copy of the checkout, so commands that tests start see it as well; the
tests near it run until one fails. What has run is kept in `.mutants/`: an interrupted run goes on
where it was as long as no file has changed. In the end every test that failed runs on the code as
it is; where it fails there too, it has shown nothing.

Why none of the tools there are: cosmic-ray changes the checkout itself and cannot take a written
list to later code; mutmut picks tests by what the test's own process ran, which of a command in a
process of its own is nothing, and changes no constant of a module.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import pytest
from mutant_rooms import HERE, ROOMS, Room, files_of, is_in, tests_near
from mutation import Mutant, in_order, mutants_of, share_out

KEPT = HERE / ".mutants"
LIMIT_S = 900
"""Of one mutant; the tests near a room take a few minutes at most."""

OWN_MOUNTS = ["unshare", "--mount"] if os.geteuid() == 0 and shutil.which("unshare") else []
"""What a wrong program leaves mounted goes with it."""

TEST_LIMIT_S = 120
"""Of one test; a mutant that never ends is one that is seen."""


def main() -> int:
    asked = arguments()
    files = [str(Path(one).resolve().relative_to(HERE)) for one in asked.files]
    ordered = {room.name: in_order(found(room, files), asked.seed) for room in ROOMS}
    if files and (strange := set(files) - {one.file for room in ordered.values() for one in room}):
        ordered["other"] = in_order(
            [one for name in strange for one in mutants_of(name, (HERE / name).read_text())],
            asked.seed,
        )
    if asked.list is not None:
        chosen = listed(asked.list, ordered, quiet=asked.json)
    else:
        chosen = chosen_of(ordered, asked.number)
    if asked.write is not None:
        rows = [asdict(one) for one in chosen]
        asked.write.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
        print(f"{len(chosen)} mutants: {asked.write}", file=sys.stderr)
        return 0
    results = list(run(chosen, near=asked.near, quiet=asked.json))
    survived = [one for one in results if one["outcome"] == "survived"]
    if asked.json:
        print(json.dumps(results, indent=1, ensure_ascii=False))
    else:
        for one in survived:
            print(f"\nsurvived: {one['file']}:{one['line']} ({one['operator']})\n{one['diff']}")
        counts = {
            word: sum(one["outcome"] == word for one in results)
            for word in ("killed", "timeout", "unclear", "survived")
        }
        print("\n" + ", ".join(f"{n} {word}" for word, n in counts.items() if n))
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", help="only these; by default the rooms' files")
    parser.add_argument("-n", "--number", type=int, default=100, help="of mutants (100)")
    parser.add_argument("--seed", type=int, default=1, help="of the order they are taken in (1)")
    parser.add_argument("--list", type=Path, help="run the mutants of this file")
    parser.add_argument("--write", type=Path, help="write the chosen mutants here, run nothing")
    parser.add_argument("--near", type=int, help="run so many files of tests at most, for a look")
    parser.add_argument("--json", action="store_true", help="print every result as JSON")
    return parser.parse_args()


def found(room: Room, files: Sequence[str]) -> list[Mutant]:
    return [
        one
        for name in files_of(room)
        if not files or name in files
        for one in mutants_of(name, (HERE / name).read_text())
    ]


def chosen_of(ordered: dict[str, list[Mutant]], number: int) -> list[Mutant]:
    """Return as many mutants of each room as of the others, those of weight 2 twice as many."""
    weights = {room.name: room.weight for room in ROOMS}
    names = [name for name in ordered for _ in range(weights.get(name, 1)) if ordered[name]]
    sizes = [len(ordered[name]) // weights.get(name, 1) for name in names]
    left = {name: iter(mutants) for name, mutants in ordered.items()}
    return [
        next(left[name])
        for name, size in zip(names, share_out(number, sizes), strict=True)
        for _ in range(size)
    ]


def listed(path: Path, ordered: dict[str, list[Mutant]], *, quiet: bool) -> list[Mutant]:
    """Return the mutants of a written list, also where a line moved to another file of its room.

    One whose line is gone gives way to the room's next.
    """
    wanted = [Mutant(**row) for row in json.loads(path.read_text())]
    taken = {(one.file, one.line_text, one.occurrence) for one in wanted}
    chosen = []
    for one in wanted:
        room = next((room for room in ROOMS if is_in(room, one.file)), None)
        files = dict.fromkeys([one.file, *(files_of(room) if room else ())])
        moved = [here for name in files if (here := still_there(one, name)) is not None]
        if moved:
            chosen.append(moved[0])
            continue
        for other in ordered.get(room.name if room else "", ()):
            if (place := (other.file, other.line_text, other.occurrence)) not in taken:
                taken.add(place)
                chosen.append(other)
                break
        if not quiet:
            print(
                f"gone: {one.file}: {one.line_text.strip()} [{one.original} -> {one.replacement}]"
            )
    return chosen


def still_there(one: Mutant, name: str) -> Mutant | None:
    """Return a mutant as it stands in a file; None where its line is not there."""
    text = (HERE / name).read_text() if (HERE / name).exists() else ""
    if (start := one.place(text)) is None:
        return None
    return replace(one, file=name, line=text.count("\n", 0, start) + 1)


def run(mutants: Sequence[Mutant], *, near: int | None, quiet: bool) -> Iterator[dict[str, Any]]:
    """Yield each mutant with what became of it; what an earlier run found is not run again.

    What survived fewer tests than are asked for now is tried again.
    """
    names = checkout_files()
    mark = hashlib.sha256()
    for name in names:
        mark.update(name.encode() + b"\0" + (HERE / name).read_bytes())
    KEPT.mkdir(exist_ok=True)
    kept = KEPT / f"{mark.hexdigest()[:16]}.jsonl"
    done = {}
    if kept.exists():
        for line in kept.read_text().splitlines():
            row = json.loads(line)
            if row["outcome"] != "survived" or row["near"] == near:
                done[row["key"]] = row
    results = []
    memory = next((path for path in (Path("/dev/shm"),) if os.access(path, os.W_OK)), None)
    work = tempfile.TemporaryDirectory(prefix="mutants-", dir=memory, ignore_cleanup_errors=True)
    with work as folder, kept.open("a") as log:
        copy = Copy(Path(folder) / "checkout", names)
        for number, one in enumerate(mutants, 1):
            row = done.get(one.key)
            if row is None:
                row = copy.tried(one, near)
                log.write(json.dumps(row) + "\n")
                log.flush()
            results.append(row)
            if not quiet:
                print(
                    f"{number:4d} {row['outcome']:9s}{row['seconds']:5.0f} s  "
                    f"{one.file}:{one.line}  {one.original!r} -> {one.replacement!r}"
                    f"  {row['test']}",
                    flush=True,
                )
        broken = copy.failing({row["test"] for row in results if row["test"]})
    for row in results:
        yield {**row, "outcome": "unclear"} if row["test"] in broken else row


def checkout_files() -> list[str]:
    """Return the files that git knows or would take."""
    listed = subprocess.run(
        ["git", "-C", HERE, "ls-files", "-co", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
    )
    return sorted(name for name in set(listed.stdout.splitlines()) if (HERE / name).is_file())


class Copy:
    """A copy of the checkout, in which one file at a time is wrong."""

    def __init__(self, root: Path, names: Sequence[str]) -> None:
        self.root = root
        subprocess.run(["git", "clone", "-q", "--shared", HERE, root], check=True)
        for name in names:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(HERE / name, root / name)
        for name in (".venv", ".tools"):
            if (HERE / name).exists():
                (root / name).symlink_to((HERE / name).resolve())
        self._moment = time.time()

    def tried(self, mutant: Mutant, near: int | None) -> dict[str, Any]:
        """Run the tests near a mutant, and undo it."""
        path = self.root / mutant.file
        text = path.read_text()
        changed = mutant.applied(text)
        assert changed is not None
        diff = difflib.unified_diff(
            text.splitlines(), changed.splitlines(), mutant.file, mutant.file, lineterm="", n=1
        )
        began = time.monotonic()
        try:
            self._write(path, changed)
            outcome, test = self._outcome(tests_near(mutant.file)[:near])
        finally:
            self._write(path, text)
        return {
            **asdict(mutant),
            "key": mutant.key,
            "near": near,
            "outcome": outcome,
            "test": test,
            "seconds": round(time.monotonic() - began, 1),
            "diff": "\n".join(diff),
        }

    def failing(self, tests: set[str]) -> set[str]:
        """Return those of some tests that fail on the code as it is."""
        if not tests:
            return set()
        printed = self._pytest(sorted(tests), "--maxfail=1000")[1]
        return tests & set(first_failures(printed))

    def _outcome(self, tests: Sequence[str]) -> tuple[str, str]:
        try:
            code, printed = self._pytest(tests, "-x")
        except subprocess.TimeoutExpired:
            return "timeout", ""
        if code == 0:
            return "survived", ""
        # a test failed, or what they share or a file of them could not be imported
        if code not in {1, 2} and "ImportError while loading conftest" not in printed:
            message = f"pytest ended with {code}:\n{printed}"
            raise SystemExit(message)
        return "killed", next(iter(first_failures(printed)), "")

    def _pytest(self, tests: Sequence[str], *options: str) -> tuple[int, str]:
        command = [*OWN_MOUNTS, HERE / ".venv/bin/python", "-m", "pytest", "-q", *options]
        command += ["-p", "no:randomly", "-p", "no:cacheprovider", "-p", "benchmarks.mutants"]
        command += ["-m", "not agents and not peers and not docs", f"--timeout={TEST_LIMIT_S}"]
        command += ["--tb=no", *tests]
        folder = self.root.parent / "t"  # short: sockets lie below it
        folder.mkdir()
        environment = {**os.environ, "PYTHONPATH": str(self.root)}
        environment["PYTEST_DEBUG_TEMPROOT"] = str(folder)
        with subprocess.Popen(
            command,
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                printed = process.communicate(timeout=LIMIT_S)[0]
            except BaseException:
                os.killpg(process.pid, 9)
                raise
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        return process.returncode, printed

    def _write(self, path: Path, text: str) -> None:
        """Write a file of which no bytecode can be taken for that of another state."""
        path.write_text(text)
        self._moment += 2
        os.utime(path, (self._moment, self._moment))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put tests into the order in which they were named: ours puts the slowest first."""
    places = {name.partition("::")[0]: place for place, name in reversed([*enumerate(config.args)])}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))


def first_failures(printed: str) -> list[str]:
    """Return the tests that failed, by their ids; a file that cannot be imported is one."""
    return re.findall(r"^(?:FAILED|ERROR) (\S+?(?:\[.*?\])?)(?: - .*)?$", printed, re.MULTILINE)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted; the same command goes on where it was")
