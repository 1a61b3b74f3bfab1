"""Secrets at the borders of what is looked for: alone in a text, just long enough, all at once."""

import os

import pytest

from schemas import redact as redacting
from schemas.redact import MARK, redact

KEYS = (
    "sk-0123456789abcdef",
    "ghp_0123456789abcdefghij",
    "AKIA0123456789ABCDEF",
    "AIza0123456789abcdefghijklmnopqrst",
    "hf_0123456789abcdefghij",
    "xoxb-0123456789",
)


@pytest.fixture
def secrets(monkeypatch):
    """Let only the given variables look like secrets."""

    def only(**variables):
        for name in [name for name in os.environ if redacting.SECRET_NAME.search(name)]:
            monkeypatch.delenv(name)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        forget()

    yield only
    monkeypatch.undo()
    forget()


def forget():
    redacting._secret_values.cache_clear()
    redacting._secret_marks.cache_clear()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Bearer 0123456789abcdefXYZ", "Bearer "),
        ("authorization: Basic 0123456789abcdefXYZ", "authorization: Basic "),
        ("Authorization=0123456789abcdefXYZ", "Authorization="),
    ],
)
def test_one_of_the_two_words_of_a_header_is_enough(secrets, text, kept):
    secrets()

    assert redact(text) == kept + MARK


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_stands_alone_is_found_by_its_beginning(secrets, key):
    secrets()

    assert redact(key) == MARK


def test_keys_of_every_shape_in_one_text_are_all_found(secrets):
    secrets()

    assert redact(" ".join(KEYS)) == " ".join([MARK] * len(KEYS))


@pytest.mark.parametrize(("value", "said"), [("a2345678", MARK), ("a234567", "a234567")])
def test_a_value_of_eight_characters_is_a_secret_and_a_shorter_one_a_word(secrets, value, said):
    secrets(SOME_TOKEN=value)

    assert redact(f"it says {value}.") == f"it says {said}."
