"""The image of the real OpenClaw and the copy for local agents, as `make openclaw` makes them."""

import json
import os
import subprocess

import pytest

from collect.inventory.image_look import look_inside
from collect.runners.openclaw import image
from collect.runners.openclaw.node import is_in_range
from collect.sandbox.engine import Engine
from schemas.config.sandbox import DEFAULT_SANDBOX
from tests.support import containers
from tests.support.real_openclaw import FOLDER, IMAGE, VERSION, real_image

pytestmark = pytest.mark.agents

SYSTEM_PATH = os.environ["PATH"]


@pytest.fixture(scope="module")
def engine():
    containers.needs("podman", "runc")
    return Engine("podman", real_image(), DEFAULT_SANDBOX.limits)


def test_the_image_holds_its_version_and_a_node_for_it(engine):
    packages = "/opt/openclaw/node_modules/openclaw/package.json"
    manifest = json.loads(look_inside(engine, "cat", packages).stdout)
    node = look_inside(engine, "node", "-p", "process.versions.node").stdout.strip()

    assert image.version_in("podman", IMAGE) == manifest["version"] == VERSION
    assert is_in_range(node, manifest["engines"]["node"])


def test_its_libraries_look_names_up_and_do_tls(engine):
    """What is loaded at run time is no part of what a program is linked with."""
    code = (
        "const dns = require('dns');"
        "dns.lookup('localhost', {family: 4}, (error, address) => console.log(error || address));"
        "console.log(require('tls').rootCertificates.length > 100, typeof fetch);"
        "console.log(typeof require('node:sqlite').DatabaseSync);"
    )

    said = look_inside(engine, "node", "-e", code).stdout.split()

    assert said == ["true", "function", "function", "127.0.0.1"]


def test_the_copy_for_local_agents_runs_on_its_own_node(engine):
    program = FOLDER / "bin" / "openclaw"
    if not program.exists():
        why = f"{program} is not there: make openclaw"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    path = f"{program.parent}:{os.environ['PATH']}"

    said = subprocess.run(
        [program, "--version"], env={"PATH": path}, capture_output=True, text=True, check=True
    )

    assert VERSION in said.stdout


def test_the_doctor_tries_it_and_says_its_digest(engine, doctor, monkeypatch):
    monkeypatch.setenv("PATH", SYSTEM_PATH)
    block = {"agent_id": "a", "image": IMAGE, "timeout_seconds": 60, "docker_cli": "podman"}
    doctor.project.profile(openclaw=block)

    check = doctor.look().one("containers", "p")

    assert check["state"] == "ok"
    assert check["details"]["version"] == VERSION
    assert check["details"]["digest"] == engine.found.digest
    assert f"openclaw {VERSION} answers in {check['details']['wall_ms']} ms" in check["found"]
