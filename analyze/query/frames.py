"""Polars frames of Arrow tables and of records: the only room that makes them.

Whole numbers are all Int64: sums of smaller ones wrap in silence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from schemas.base import Record
from schemas.errors import QueryFailed, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    import pyarrow as pa


def frame_of_table(table: pa.Table) -> pl.DataFrame:
    """Return the rows of a table; a sum that the engine made wider than Int64 is brought back.

    Raises:
        QueryFailed: a number does not fit.
    """
    import polars as pl  # noqa: PLC0415 - 1.2 s on a cold machine

    try:
        frame = pl.DataFrame(pl.from_arrow(table))
        return frame.with_columns(
            pl.col(name).cast(pl.Int64) for name, kind in frame.schema.items() if _is_whole(kind)
        )
    except (pl.exceptions.PolarsError, NotImplementedError) as exc:
        said = printable(str(exc).partition("\n")[0])
        message = f"a frame cannot hold the answer: {said}; cast what is in the way to varchar"
        raise QueryFailed(message) from exc


def frame(record: Record, field: str) -> pl.DataFrame:
    """Return what one field of a record lists, a row each: `frame(comparison, "groups")`.

    A record inside a row gives columns of its own, `base_coverage` for `coverage` of `base`; lists
    of records inside a row are left out. Columns are there without any row too.

    Args:
        record: such as what `History.compare` returns.
        field: name of a field that lists records.

    Raises:
        ValueError: there is no such field, or it lists something else.
    """
    import polars as pl  # noqa: PLC0415 - 1.2 s on a cold machine

    listing = _lists(type(record))
    if field not in listing:
        message = f"`{field}` lists no records; these do: {', '.join(listing) or 'none'}"
        raise ValueError(message)
    columns = list(_columns(listing[field]))
    kinds = {name: _kind(annotation) for name, _, annotation in columns}
    rows = getattr(record, field)
    return pl.DataFrame(
        {name: [_value(row, path) for row in rows] for name, path, _ in columns}, schema=kinds
    )


def _is_whole(kind: pl.DataType) -> bool:
    return kind.is_integer() or (kind.is_decimal() and getattr(kind, "scale", None) == 0)


def _lists(kind: type[Record]) -> dict[str, type[Record]]:
    """Return the fields of a record that list records, and of which kind."""
    found = {}
    for name, field in kind.model_fields.items():
        item, *_ = (*get_args(field.annotation), None)
        if get_origin(field.annotation) is tuple and _is_record(item):
            found[name] = item
    return found


def _columns(
    kind: type[Record], prefix: str = "", path: tuple[str, ...] = ()
) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """Yield the columns of a record: name, the way to its value, its type."""
    lists = _lists(kind)
    for name, field in kind.model_fields.items():
        inner = _inner(field.annotation)
        if name in lists or get_origin(inner) is dict:
            continue
        if _is_record(inner):
            yield from _columns(inner, f"{prefix}{name}_", (*path, name))
        else:
            yield f"{prefix}{name}", (*path, name), inner


def _inner(annotation: Any) -> Any:
    """Return a type without `| None` and without what annotates it."""
    if hasattr(annotation, "__metadata__"):
        return _inner(annotation.__origin__)
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    if type(None) in get_args(annotation) and len(kinds) == 1:
        return _inner(kinds[0])
    return annotation


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Record)


def _kind(annotation: Any) -> Any:
    import polars as pl  # noqa: PLC0415 - loaded already

    if get_origin(annotation) is tuple:
        return pl.List(_kind(_inner(get_args(annotation)[0])))
    if get_origin(annotation) is Literal:
        return _kind(type(get_args(annotation)[0]))
    return {bool: pl.Boolean, int: pl.Int64, float: pl.Float64}.get(annotation, pl.String)


def _value(row: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        row = None if row is None else getattr(row, name)
    if isinstance(row, tuple):
        return list(row)
    return row if isinstance(row, (bool, int, float, str)) or row is None else str(row)
