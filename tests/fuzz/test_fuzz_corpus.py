"""Every stored input of the fuzz targets keeps the promise of its target."""

import pytest

from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_no_stored_input_breaks_its_promise(name):
    target = TARGETS[name]
    try:
        for path in target.files():
            try:
                target.check(path.read_bytes())
            except Exception as exc:
                exc.add_note(f"input: {path}; again: python -m tests.fuzz {name} --input {path}")
                raise
    finally:
        target.close()
