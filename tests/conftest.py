"""What tests of every part share: a project on disk and a scripted endpoint."""

import importlib.util
import os
import socket

import pytest

from collect.config.transports import TRANSPORT
from collect.local.weights import find_weights
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
    for transport in TRANSPORT.values():
        for name in (transport.base_url_env, transport.api_key_env):
            if name is not None:
                monkeypatch.delenv(name, raising=False)
    root = tmp_path / "project"
    root.mkdir()
    return Project(root)


@pytest.fixture(scope="session")
def weights():
    """The embedded model; in CI it must be there, elsewhere its absence skips the tests."""
    path = find_weights()
    if path is None or importlib.util.find_spec("xllamacpp") is None:
        reason = "the embedded model is not installed: make weights"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    return path


@pytest.fixture
def doctor(project, tmp_path, monkeypatch, capsys):
    """A doctor in a project with one case and a model nobody serves; PATH is empty."""
    from tests.doctor import Doctor

    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.chdir(project.root)
    project.case()
    return Doctor(project, folder, capsys)
