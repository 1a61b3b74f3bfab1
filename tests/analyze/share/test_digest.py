"""A hash of rows goes by what they are, and not by how they lie in memory."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyze.share.digest import digest_of_table, digests_of

KIND = pa.schema(
    [
        ("number", pa.int64()),
        ("share", pa.float64()),
        ("is_so", pa.bool_()),
        ("text", pa.string()),
        ("texts", pa.list_(pa.string())),
        ("one", pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ("some", pa.list_(pa.struct([("a", pa.int64()), ("deep", pa.list_(pa.float64()))]))),
        ("by_name", pa.map_(pa.string(), pa.string())),
    ]
)

TEXT = st.none() | st.sampled_from(["", "a", "ab", "é", "\0", "x" * 50])
NUMBER = st.none() | st.integers(-3, 3)
SHARE = st.none() | st.sampled_from([0.0, 0.5, float("inf")])
ROW = st.fixed_dictionaries(
    {
        "number": NUMBER,
        "share": SHARE,
        "is_so": st.none() | st.booleans(),
        "text": TEXT,
        "texts": st.none() | st.lists(TEXT, max_size=3),
        "one": st.none() | st.fixed_dictionaries({"a": NUMBER, "b": TEXT}),
        "some": st.none()
        | st.lists(
            st.none()
            | st.fixed_dictionaries({"a": NUMBER, "deep": st.none() | st.lists(SHARE, max_size=2)}),
            max_size=3,
        ),
        "by_name": st.none()
        | st.lists(
            st.tuples(st.sampled_from("abc"), TEXT), max_size=2, unique_by=lambda one: one[0]
        ),
    }
)
ROWS = st.lists(ROW, min_size=1, max_size=12)


def table_of(rows):
    return pa.Table.from_pylist(rows, schema=KIND)


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, before=ROWS, cut=st.integers(0, 12))
def test_neither_chunks_nor_places_in_memory_change_a_hash(rows, before, cut):
    whole = table_of(rows)
    cut = min(cut, len(rows))
    chunked = pa.concat_tables([table_of(rows[:cut]), table_of(rows[cut:])])
    sliced = table_of(before + rows).slice(len(before))

    assert digest_of_table(chunked) == digest_of_table(sliced) == digest_of_table(whole)
    both = digests_of(table_of(before + rows), [len(before), len(rows)])
    assert both == [digest_of_table(table_of(before)), digest_of_table(whole)]


@settings(max_examples=80, deadline=None)
@given(one=ROWS, other=ROWS)
def test_other_rows_have_another_hash(one, other):
    assert (digest_of_table(table_of(one)) == digest_of_table(table_of(other))) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"texts": ["ab"]}, {"texts": ["a", "b"]}),
        ({"texts": []}, {"texts": None}),
        ({"text": ""}, {"text": None}),
        ({"number": 0}, {"number": None}),
        ({"some": [{"a": 1, "deep": [0.5]}]}, {"some": [{"a": 1, "deep": []}, None]}),
        ({"one": {"a": None, "b": None}}, {"one": None}),
    ],
)
def test_what_is_nearly_the_same_is_another(one, other):
    empty = dict.fromkeys(KIND.names)

    assert digest_of_table(table_of([empty | one])) != digest_of_table(table_of([empty | other]))


def test_a_column_of_nulls_alone_is_as_none():
    table = pa.table({"a": [1, 2]})
    more = table.append_column("b", pa.nulls(2, pa.string()))

    assert digest_of_table(more) == digest_of_table(table)
    assert digest_of_table(table.rename_columns(["c"])) != digest_of_table(table)


def test_a_run_without_rows_has_one_hash_beside_whatever_others():
    rows = table_of([dict.fromkeys(KIND.names) | {"number": 1}])
    _, digest = digests_of(rows, [1, 0])

    assert digest == digest_of_table(rows.slice(0, 0))
