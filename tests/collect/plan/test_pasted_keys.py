"""A key in a wrong place: it is refused, and neither shown nor stored, whole or in halves."""

import json
import subprocess

import orjson
import pytest
import zstandard

from collect.plan.fingerprint import case_hash
from schemas.redact import _secret_marks, _secret_values, redact
from tests.collect.execute.test_run import Made, Quiet, run_in
from tests.support.kept_run import collect

KEY = "sk-proj-Ab3dE5gH7jK9mN1pQ3sT5vX7"
SHAPELESS = "Qx7hasnoshapethatanyoneknows42"
BASE64 = "q83vEjRWeJASNFZ4kBI0VniQq83vEjRW"
HEX = "0123456789abcdef0123456789abcdef01234567"

PLACES = {
    "name_of_a_variable": {"api_key_env": KEY},
    "name_without_a_shape": {"api_key_env": SHAPELESS},
    "name_in_base64": {"api_key_env": BASE64},
    "name_in_hex": {"api_key_env": HEX},
    "name_with_an_ending": {"api_key_env": f"{SHAPELESS}_API_KEY"},
    "path": {"base_url": f"https://h.example/{KEY}/v1"},
    "encoded_path": {"base_url": f"https://h.example/%73{KEY[1:]}/v1"},
    "path_in_base64": {"base_url": f"https://h.example/{BASE64}/v1"},
    "path_in_hex": {"base_url": f"https://h.example/v1/{HEX}"},
    "query": {"base_url": f"https://h.example/v1?api-key={SHAPELESS}"},
    "fragment": {"base_url": f"https://h.example/v1#{SHAPELESS}"},
    "user": {"base_url": f"https://{SHAPELESS}@h.example/v1"},
    "password": {"base_url": f"https://me:{SHAPELESS}@h.example/v1"},
    "port": {"base_url": f"https://me:{SHAPELESS}"},
    "address": {"base_url": KEY},
    "option": {"request_options": {"extra": {"deep": [KEY]}}},
    "named_option": {"request_options": {"api_key": SHAPELESS}},
    "header": {"request_options": {"extra": f"Authorization: Bearer {SHAPELESS}"}},
    "model": {"requested_model": KEY},
    "label": {"label": f"mine {KEY}"},
    "unknown_field": {KEY: 1},
    "command": {"executable": f"claude --key {KEY}"},
    "cut_in_a_message": {"warmup": "x" * 50 + f" {KEY}"},
}
"""Where a key was pasted, in a model of a suite."""

KEYS = (KEY, SHAPELESS, BASE64, HEX)


def halves(text, key):
    """Return whether a good part of a key is in a text, in any case."""
    return any(key[at : at + 10].lower() in text.lower() for at in range(len(key) - 9))


@pytest.fixture
def pasted(project):
    """A project with a suite for each wrong place, and one whose key is in its own title."""
    project.case()
    for name, fields in PLACES.items():
        model = {"model_id": "m", "provider": "openai_chat", "requested_model": "r"}
        suite = {"schema_version": 1, "suite_id": name, "title": name, "models": [model | fields]}
        project.write(f"configs/suites/{name}.yaml", suite)
    project.suite(title=f"Suite of {KEY}")
    return project


def test_a_key_in_a_wrong_place_is_refused_and_never_repeated(pasted):
    done = {
        name: collect(pasted.root, *words)
        for name, words in {
            "validate": ("validate",),
            "validate --json": ("validate", "--json"),
            "doctor": ("doctor",),
            "doctor --json": ("doctor", "--json"),
            "plan": ("plan", "--suite", "query", "--run-profile", "p", "--json"),
            "run": ("run", "--suite", "name_of_a_variable", "--run-profile", "p", "--json"),
        }.items()
    }

    for name, one in done.items():
        for key in KEYS:
            leaks = [line for line in (one.stdout + one.stderr).splitlines() if halves(line, key)]
            assert leaks == [], name
        assert "Traceback" not in one.stderr
        assert one.returncode == (1 if name.startswith("doctor") else 2), name
    problems = json.loads(done["validate --json"].stdout)["problems"]
    refused = {problem["path"].rpartition("/")[2] for problem in problems}
    assert {f"{name}.yaml" for name in PLACES} | {"s.yaml"} == refused
    assert not (pasted.root / "runs").exists()


def test_an_address_of_the_environment_is_not_repeated_either(project):
    project.case()
    project.model(provider="openai_chat", api_key_env=None)
    words = ("plan", "--suite", "s", "--run-profile", "p")

    for address in (f"https://{SHAPELESS}@h.example/v1", f"https://h.example/v1?{SHAPELESS}"):
        done = collect(project.root, *words, OPENAI_BASE_URL=address)

        assert done.returncode == 2
        assert not halves(done.stdout + done.stderr, SHAPELESS)


@pytest.mark.parametrize(
    "fields",
    [
        {"base_url": "https://api.cloudflare.example/accounts/0123456789abcdef0123456789abcdef/v1"},
        {"base_url": "https://h.example/models/Meta-Llama-3.1-70B-Instruct-AWQ-INT4/v1"},
        {"base_url": "https://h.example/123e4567-e89b-12d3-a456-426614174000/v1"},
        {"api_key_env": "EU_WEST_1_GPT4_2024_API_KEY"},
        {"api_key_env": "__MY_API_KEY"},
    ],
)
def test_what_only_looks_odd_is_no_key(project, fields):
    project.case()
    base = {"base_url": "https://h.example/v1", "api_key_env": "MY_API_KEY"}
    project.model(provider="openai_chat", **(base | fields))

    hosts = ("h.example", "api.cloudflare.example")
    assert len(project.load(allowed_hosts=hosts).models) == 1


def test_half_a_key_is_nowhere(project, endpoint, answers, tmp_path, monkeypatch):
    """Where what a server says is cut or put into lower case, keys have been taken out before."""
    known = "AKIA0123456789ABCDEF"  # in lower case no shape knows it
    long = f"{SHAPELESS}-and-a-longer-one-that-begins-so-0123456789"
    monkeypatch.setenv("A_API_KEY", SHAPELESS)
    monkeypatch.setenv("B_API_KEY", long)
    for cached in (_secret_values, _secret_marks):
        cached.cache_clear()
    text = f'{{"{"x" * 90} {known}": 1, "{"x" * 90} {known}": 2}}'
    answer = answers.whole(text) | {"model": "m" * 190 + long}
    call = {"id": "1", "type": "function", "function": {"name": known, "arguments": "{}"}}
    called = answers.whole("x")
    called["choices"][0]["message"]["tool_calls"] = [call]
    scripts = {
        "encoding": lambda wire: wire.answer({}, headers=(f"Content-Encoding: x{long}",)),
        "encoded": lambda wire: wire.answer({}, headers=(f"Content-Encoding: {known}",)),
        "border": lambda wire: wire.answer(answer),
        "tool": lambda wire: wire.answer(called),
        "long": lambda wire: wire.answer(answers.whole("x" * 65_520 + long)),
        "escaped": lambda wire: wire.answer(f'no JSON "{known}": https://me:{known}@h'.encode()),
    }
    validator = {"type": "json_keys", "required_keys": ["a"]}
    for name in scripts:
        message = {"role": "user", "content": f"<{name}>"}
        fields = {"validator": validator} if name == "border" else {}
        project.case(name, input={"messages": [message]}, **fields)
    project.model(base_url=endpoint.base_url, api_key_env="B_API_KEY")
    project.profile(runner_defaults={"retries": 0, "stream": False})

    def script(wire, request):
        words = request.body["messages"][0]["content"]
        scripts[words.strip("<>")](wire)

    endpoint.script = script
    (project.root / ".git").rmdir()
    git = ("git", "init", "-q", "-b", SHAPELESS)
    subprocess.run(git, cwd=project.root, check=True, capture_output=True)

    run_dir = tmp_path / "runs" / "r"
    made = Made(run_dir, run_in(run_dir, project.load(), Quiet()), [])

    for cached in (_secret_values, _secret_marks):
        cached.cache_clear()
    rows = {row["case_id"]: row for row in made.results()}
    assert len(rows) == len(scripts)
    assert "the answer is encoded as `x[redacted]`" in rows["encoding"]["error_message"]
    assert rows["tool"]["tool_calls"] == ["[redacted]"]
    assert rows["border"]["violation"].startswith("duplicate_key:" + "x" * 90)
    assert rows["long"]["raw_output"].endswith("x[redacted]")
    commit = json.loads((run_dir / "inventory.json").read_text())["config_commit"]
    assert commit["branch"] == "[redacted]"
    for path in run_dir.rglob("*"):
        if path.is_file() and path.name != "config.json":
            raw = path.read_bytes()
            if path.suffix == ".zst":
                unpacker = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
                raw = unpacker.read()
            for key in (SHAPELESS, known, long[30:60]):
                assert not halves(raw.decode(errors="replace"), key), path


def test_the_longer_of_two_keys_is_taken_out_whole(monkeypatch):
    monkeypatch.setenv("SHORT_TOKEN", "hunter2hunter2")
    for suffix in ("-aa", "-bb", "-cc", "-dd"):  # sets have no order of their own
        monkeypatch.setenv(f"LONG{suffix[1:]}_TOKEN", f"hunter2hunter2{suffix}-and-more")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:pass/word@proxy.example:8080")
    monkeypatch.setenv("ODD_TOKEN", 'with"a/slash0')
    for cached in (_secret_values, _secret_marks):
        cached.cache_clear()
    try:
        for suffix in ("-aa", "-bb", "-cc", "-dd"):
            assert redact(f"it is hunter2hunter2{suffix}-and-more!") == "it is [redacted]!"
        assert redact("short hunter2hunter2!") == "short [redacted]!"
        said = orjson.dumps({"key": 'with"a/slash0'}).decode()
        assert redact(said) == '{"key":"[redacted]"}'
        assert redact(said.replace("/", "\\/")) == '{"key":"[redacted]"}'
        assert redact("?key=with%22a%2Fslash0") == "?key=[redacted]"
        assert (
            redact("at https://me:hunter2@h.example/v1") == "at https://me:[redacted]@h.example/v1"
        )
    finally:
        monkeypatch.undo()
        for cached in (_secret_values, _secret_marks):
            cached.cache_clear()


def test_another_hook_is_another_case(project):
    """The same check with another file is judged by other code: no answer is taken over."""
    hook = {"path": "hook.py", "callable_name": "check"}
    check = {"check_id": "h", "python_hook": hook}
    path = project.case("one", deterministic_checks=[check])
    hashes = set()
    for code in ("def check(): return True\n", "def check(): return False\n"):
        (path.parent / "hook.py").write_text(code)
        (case,) = project.load(skip=True).cases
        assert case.hooks
        hashes.add(case_hash(case))

    assert len(hashes) == 2
