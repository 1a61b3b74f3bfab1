"""What the rows of a run are, as a hash: the same wherever and however often they were written.

Of each column counts which values are null, how long each is, and the values one after the other,
so that neither chunks, offsets nor what stands under a null play a part. Columns of many runs are
laid out once, and each run's hash takes its stretch of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

HASH_CHARS = 32
"""Of SHA-256 as hexadecimal digits: 128 bits."""

Feed = Callable[[Callable[[bytes | memoryview], None], int, int], None]
"""Gives the values from one place to before another one to whoever takes bytes."""


def digest_of_table(table: pa.Table) -> str:
    """Return the hash of a table's rows in their order, with the names of the columns."""
    (digest,) = digests_of(table, [table.num_rows])
    return digest


def digests_of(table: pa.Table, lengths: Iterable[int]) -> list[str]:
    """Return the hash of each stretch of a table's rows, with the names of the columns.

    A column of nulls alone counts as one that is not there, as all do where there are no rows: an
    older benchlake has none, and what else is hashed meanwhile plays no part.

    Args:
        table: the rows of all stretches, one after the other.
        lengths: rows of each.
    """
    columns = []
    for name in sorted(table.column_names):
        column = table.column(name)
        if column.null_count < len(column):
            values = pa.concat_arrays(column.chunks)
            columns.append((name.encode() + b"\0", _valid(values), _feed(values)))
    digests, start = [], 0
    for length in lengths:
        end = start + length
        whole = hashlib.sha256(str(length).encode())
        for name, valid, feed in columns:
            if length and (valid is None or valid[start:end].any()):
                whole.update(name)
                feed(whole.update, start, end)
        digests.append(whole.hexdigest()[:HASH_CHARS])
        start = end
    return digests


def digests_of_runs(runs: Sequence[Mapping[str, pa.Table]]) -> list[dict[str, str]]:
    """Return of each run the hash of each of its tables."""
    found: list[dict[str, str]] = [{} for _ in runs]
    for table in sorted({table for run in runs for table in run}):
        places = [place for place, run in enumerate(runs) if table in run]
        rows = pa.concat_tables([runs[place][table] for place in places])
        lengths = [runs[place][table].num_rows for place in places]
        for place, digest in zip(places, digests_of(rows, lengths), strict=True):
            found[place][table] = digest
    return found


def digest_of_run(digests: Mapping[str, str]) -> str:
    """Return the hash of a run from those of its tables."""
    whole = hashlib.sha256()
    for table, digest in sorted(digests.items()):
        whole.update(f"{table}\0{digest}\n".encode())
    return whole.hexdigest()[:HASH_CHARS]


def _valid(values: pa.Array) -> np.ndarray | None:
    """Return a byte a value, 1 where it is not null; None where none is."""
    if not values.null_count:
        return None
    valid: np.ndarray = values.is_valid().to_numpy(zero_copy_only=False)
    return valid.view(np.uint8)


def _feed(values: pa.Array) -> Feed:
    """Return what gives the values of a column, or of a part of one."""
    valid, inner = _valid(values), _values(values)

    def feed(take: Callable[[bytes | memoryview], None], start: int, end: int) -> None:
        if valid is not None and not valid[start:end].all():
            take(b"nulls")
            take(valid[start:end].data)
        inner(take, start, end)

    return feed


def _values(values: pa.Array) -> Feed:
    kind = values.type
    if pa.types.is_map(kind) or pa.types.is_list(kind) or pa.types.is_string(kind):
        return _stretches(values)
    if pa.types.is_struct(kind):
        parts = [
            (field.name.encode() + b"\0", _feed(part))
            for field, part in zip(kind, values.flatten(), strict=True)
        ]

        def each(take: Callable[[bytes | memoryview], None], start: int, end: int) -> None:
            for name, feed in parts:
                take(name)
                feed(take, start, end)

        return each
    zero = False if pa.types.is_boolean(kind) else 0
    plain = values.fill_null(zero).to_numpy(zero_copy_only=False)
    numbers = plain.view(np.uint8) if plain.dtype == bool else plain
    numbers = np.ascontiguousarray(numbers.astype(numbers.dtype.newbyteorder("<")))
    return lambda take, start, end: take(numbers[start:end].tobytes())


def _stretches(values: pa.Array) -> Feed:
    """Return what gives values of a length of their own: their lengths, then what is in them."""
    copied = values.take(pa.array(np.arange(len(values))))  # from 0 on, and nothing under a null
    kind = values.type
    if pa.types.is_string(kind):
        sizes = pc.binary_length(copied).fill_null(0).to_numpy()
        inner = _bytes(memoryview(copied.buffers()[2] or b""))
    else:
        sizes = np.diff(copied.offsets.to_numpy())
        is_map = pa.types.is_map(kind)
        inner = _both(copied.keys, copied.items) if is_map else _feed(copied.values)
    ends = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    lengths = sizes.astype("<i8")

    def feed(take: Callable[[bytes | memoryview], None], start: int, end: int) -> None:
        take(lengths[start:end].tobytes())
        inner(take, int(ends[start]), int(ends[end]))

    return feed


def _bytes(data: memoryview) -> Feed:
    return lambda take, start, end: take(data[start:end])


def _both(keys: pa.Array, items: pa.Array) -> Feed:
    first, second = _feed(keys), _feed(items)

    def feed(take: Callable[[bytes | memoryview], None], start: int, end: int) -> None:
        first(take, start, end)
        second(take, start, end)

    return feed
