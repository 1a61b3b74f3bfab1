"""Logs of Inspect that nobody should trust: torn, changed, endless, with names that lead out."""

import json
import random
import struct
import zipfile
import zlib

import pytest

from analyze.importers.base import STAGING
from analyze.importers.detect import detect
from analyze.importers.inspect import import_inspect
from analyze.importers.inspect.archive import FREE_BYTES, MAX_MEMBER_BYTES
from schemas.errors import BenchError
from tests.support.imported_rows import results_of, trace_of
from tests.support.inspect_logs import (
    chunked,
    event,
    header,
    member,
    members,
    message,
    output,
    results,
    sample,
    write_eval,
    write_json,
    zstd_zip,
)

N_MUTATIONS = 360
SEED = 20260501
VALUES = (
    None,
    True,
    -1,
    10**30,
    1e308,
    "",
    "\ud800",
    "x" * 300,
    [],
    {},
    [[]],
    {"type": "x"},
    [None],
)


@pytest.fixture
def runs_dir(tmp_path):
    return tmp_path / "runs"


def assert_all_or_nothing(path, runs_dir):
    """Import something, and return its rows; what is refused leaves nothing."""
    detect(path)
    try:
        (written,) = import_inspect(path, runs_dir)
    except BenchError:
        assert not runs_dir.exists() or not [*runs_dir.iterdir()]
        return []
    assert [one.name for one in runs_dir.iterdir() if one.name.startswith(STAGING)] == []
    rows = results_of(written.run_dir)
    for row in rows:
        trace_of(written.run_dir, row)
    return rows


def rich():
    pool = [message("user", "2+2?", id="in")]
    call = {"id": "c", "function": "f", "arguments": {"x": 1}}
    asks = message("assistant", [{"type": "text", "text": "attachment://0"}], tool_calls=[call])
    choice = {"message": asks}
    events = [
        event("span_begin", id="s", type="agent", name="n"),
        event("model", span_id="s", input_refs=[[0, 1]], output=output(choices=[choice])),
        event("tool", span_id="s", id="c", function="f", result=[{"type": "text", "text": "r"}]),
        event("sample_limit", type="token"), event("error", error={"message": "m"}),
    ]  # fmt: skip
    whole = sample("a", limit={"type": "token", "limit": 1}, events=events, error_retries=[{}])
    head = header(results=results(("match", "match", {"accuracy": 0.5})))
    folder = chunked(sample("b", value="I"), events, pool, ["hi"], [[0, 1]])
    return members(whole, head=head, **folder)


def mutated(value, source):
    """A value with one place in it changed, taken away or given another name."""
    places = [(value, key) for key in value] if isinstance(value, dict) else []
    places += [(value, key) for key in range(len(value))] if isinstance(value, list) else []
    for holder, key in places:
        inner = holder[key]
        if isinstance(inner, dict | list) and inner and source.random() < 0.75:
            return mutated(inner, source)
    if places:
        holder, key = source.choice(places)
        if source.random() < 0.2 and isinstance(holder, dict):
            del holder[key]
        else:
            holder[key] = source.choice(VALUES)
    return None


@pytest.mark.parametrize("part", range(6))
def test_whatever_is_changed_in_a_log_is_read_or_refused(tmp_path, part):
    source = random.Random(SEED + part)
    n_rows = 0
    for number in range(N_MUTATIONS // 6):
        found = json.loads(json.dumps(rich()))
        mutated(found[source.choice(sorted(found))], source)
        if number % 3 == 0:
            whole = [one for name, one in found.items() if name.endswith("_epoch_1.json")]
            path = write_json(tmp_path / f"{number}.json", *whole, head=found["header.json"])
        else:
            path = write_eval(tmp_path / f"{number}.eval", found, ("deflate", "zstd")[number % 2])
        n_rows += len(assert_all_or_nothing(path, tmp_path / f"runs{number}"))
    assert n_rows > N_MUTATIONS // 12


@pytest.mark.parametrize("method", ["deflate", "zstd"])
def test_whatever_bytes_are_changed_the_log_is_read_or_refused(tmp_path, method):
    raw = write_eval(tmp_path / "log.eval", rich(), method).read_bytes()
    source = random.Random(SEED)
    for number in range(80):
        changed = bytearray(raw)
        if number % 4 == 0:
            del changed[source.randrange(len(raw)) :]
        for _ in range(number % 4):
            changed[source.randrange(len(changed))] = source.randrange(256)
        path = tmp_path / f"{number}.eval"
        path.write_bytes(changed)
        assert_all_or_nothing(path, tmp_path / f"runs{number}")


def test_a_log_that_was_cut_off_is_refused_in_a_sentence(tmp_path, runs_dir):
    path = write_eval(tmp_path / "log.eval", rich())
    path.write_bytes(path.read_bytes()[:-40])

    with pytest.raises(BenchError, match=r"log\.eval: is no whole \.eval file .*copy it again"):
        import_inspect(path, runs_dir)
    assert not runs_dir.exists()


def test_a_damaged_sample_is_told_and_the_others_are_read(tmp_path, runs_dir):
    found = members(sample("a"), sample("b"))
    found[member("c")] = b'{"id": "c", '

    (written,) = import_inspect(write_eval(tmp_path / "log.eval", found), runs_dir)

    assert written.n_trials == 2
    (finding,) = written.findings
    assert finding.severity == "error"
    assert "'c', epoch 1: `samples/c_epoch_1.json` is no JSON" in finding.message


def bomb(size, real):
    """A zip with a member that says that it has a size, and holds another."""
    raw = zlib.compressobj(9, wbits=-15)
    packed = raw.compress(b" " * real) + raw.flush()
    name = member("a").encode()
    facts = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0x21, 0, len(packed), size, len(name), 0)
    head = json.dumps(header()).encode()
    whole = zstd_zip([("header.json", head)])
    at = whole.index(b"PK\x01\x02")
    directory = whole[at:-22] + b"PK\x01\x02" + struct.pack("<H", 20) + facts
    directory += struct.pack("<HHHII", 0, 0, 0, 0, at) + name
    body = whole[:at] + b"PK\x03\x04" + facts + name + packed
    ends = struct.pack("<HHHHIIH", 0, 0, 2, 2, len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + ends


@pytest.mark.parametrize(
    ("size", "real", "said"),
    [
        (MAX_MEMBER_BYTES + 1, 100, "bytes unpacked"),
        (100, 50_000_000, "is damaged: not what the directory says"),
        (FREE_BYTES * 2, 100, "would unpack to"),
    ],
)
def test_nothing_is_unpacked_beyond_what_a_log_may_be(tmp_path, runs_dir, size, real, said):
    path = tmp_path / "log.eval"
    path.write_bytes(bomb(size, real))

    try:
        (written,) = import_inspect(path, runs_dir)
        text = written.findings[0].message
    except BenchError as exc:
        text = str(exc)

    assert said in text


def test_names_in_a_log_never_become_paths(tmp_path, runs_dir):
    name = "../../../out"
    found = members(sample(name), head=header(eval={"task": "../../up", "eval_id": "../x"}))
    found |= {"../evil.json": {}, "/abs.json": {}}

    (written,) = import_inspect(write_eval(tmp_path / "log.eval", found), runs_dir)

    assert written.run_dir.parent == runs_dir
    assert {one.name for one in tmp_path.iterdir()} == {"log.eval", "runs"}
    assert results_of(written.run_dir)[0].prompt_id == name


def test_another_packing_and_an_encrypted_member_are_named(tmp_path, runs_dir):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as zipped:
        zipped.writestr("header.json", json.dumps(header()))

    with pytest.raises(BenchError, match="packed by method 14; stored, deflate"):
        import_inspect(path, runs_dir)


@pytest.mark.parametrize("depth", [200, 5_000, 200_000])
def test_what_is_nested_without_end_ends(tmp_path, runs_dir, depth):
    deep = "[" * depth + "]" * depth
    raw = json.dumps(sample("a", store="@")).replace('"@"', deep).encode()
    calls = [{"id": "1", "function": "f", "arguments": {"x": "@"}}]
    asks = sample("b", messages=[message("assistant", "", tool_calls=calls)])
    call = json.dumps(asks).replace('"@"', deep).encode()
    found = {member("a"): raw, member("b"): call, "header.json": header()}

    rows = assert_all_or_nothing(write_eval(tmp_path / "log.eval", found), runs_dir)

    assert len(rows) in {0, 2}
