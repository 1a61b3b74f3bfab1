"""Names that another tool gave to cases and models, as slugs that stay apart."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from schemas.base import slugify

LONGEST = 128


def slugs_of(names: Iterable[str]) -> dict[str, str]:
    """Return a slug for each name; names that would get the same one get a hash as well."""
    slugs = {name: slugify(name) for name in names}
    taken = Counter(slugs.values())
    return {
        name: slug if taken[slug] == 1 and len(slug) <= LONGEST else _with_hash(slug, name)
        for name, slug in slugs.items()
    }


def slug_of(name: str) -> str:
    """Return one name as a slug of a length that an id may have."""
    return slugs_of([name])[name]


def _with_hash(slug: str, name: str) -> str:
    return f"{slug[: LONGEST - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
