"""Names that another tool gave to cases and models, as slugs that stay apart."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.base import set_apart, slugify


def slugs_of(names: Iterable[str]) -> dict[str, str]:
    """Return a slug for each name; names that would get the same one get a hash as well."""
    return set_apart({name: slugify(name) for name in names}, str)


def slug_of(name: str) -> str:
    """Return one name as a slug of a length that an id may have."""
    return slugs_of([name])[name]
