"""What tests of every part share: a project on disk and a scripted endpoint."""

import socket

import pytest

from tests import endpoint as endpoint_module
from tests.endpoint import Endpoint
from tests.project import Project


@pytest.fixture
def endpoint():
    """A scripted endpoint that answers `Hello there.` until told otherwise."""
    server = Endpoint()
    yield server
    server.close()


@pytest.fixture
def free_port():
    """A port of this machine that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@pytest.fixture
def answers():
    """What an endpoint may be scripted with: the functions of `tests.endpoint`."""
    return endpoint_module


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty project with a suite `s` of one model and a run profile `p`."""
    for name in ("OLLAMA_OPENAI_BASE", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "project"
    root.mkdir()
    return Project(root)
