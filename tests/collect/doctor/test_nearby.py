"""`collect init` names what answers on this machine, in a second and as comments."""

import re
import time

import pytest
import yaml

from collect.commands.init import write_starter
from collect.commands.validate import validate_paths
from collect.config import load_inputs
from collect.doctor import endpoints

NAMES = ["llama3.2:3b", "Llama3.2_3B", "nomic-embed-text", 'x"\n  - evil: [\u2028', "---"]


@pytest.fixture
def asked(endpoint, monkeypatch):
    """An endpoint that lists models and is the only server of this machine."""
    endpoint.script = lambda wire, _request: wire.answer(
        {"object": "list", "data": [{"id": name, "owned_by": "llamacpp"} for name in NAMES]}
    )
    monkeypatch.setenv("OLLAMA_OPENAI_BASE", endpoint.base_url)
    monkeypatch.setattr(endpoints, "OTHER_PORTS", ())
    return endpoint


def suite_of(folder):
    return folder / "configs" / "suites" / "starter.yaml"


def test_models_of_a_server_are_ready_to_be_uncommented(asked, tmp_path):
    said = write_starter(tmp_path / "mine")

    path = suite_of(tmp_path / "mine")
    (line,) = [line for line in said if line.startswith("found ")]
    assert f"at {asked.base_url}, 4 models: ready to be uncommented in " in line
    assert validate_paths([tmp_path / "mine"], tmp_path).problems == ()
    assert len(yaml.safe_load(path.read_text())["models"]) == 1, "comments, all of them"
    text = path.read_text()
    begin, end = text.index("  # Answered when"), text.index("  # A model of your own Ollama.")
    block = text[begin:end].partition("\n")[2]
    path.write_text(text[:begin] + re.sub(r"(?m)^  # ", "  ", block) + text[end:])

    models = load_inputs("starter", "demo", working_dir=tmp_path / "mine").models

    assert [model.model for model in models[1:]] == [NAMES[0], NAMES[1], NAMES[3], NAMES[4]]
    assert [model.model_id for model in models[1:3]] == ["llama3_2_3b", "llama3_2_3b-2"]
    assert {model.base_url for model in models[1:]} == {asked.base_url}


@pytest.mark.parametrize("how", ["silent", "hangs", "nonsense"])
def test_a_server_that_says_nothing_useful_is_not_waited_for_and_no_error(
    how, asked, tmp_path, free_port, monkeypatch
):
    if how == "silent":
        monkeypatch.setenv("OLLAMA_OPENAI_BASE", f"http://127.0.0.1:{free_port}/v1")
    asked.script = lambda wire, _request: (
        time.sleep(60) if how == "hangs" else wire.answer(["x", {"id": 5}])
    )
    began = time.monotonic()

    said = write_starter(tmp_path / "mine")

    assert time.monotonic() - began < 30
    assert not [line for line in said if line.startswith("found ")]
    assert "  # Answered when" not in suite_of(tmp_path / "mine").read_text()


def test_no_other_machine_is_asked(asked, tmp_path, monkeypatch):
    monkeypatch.setenv("OLLAMA_OPENAI_BASE", "http://models.example/v1")

    assert endpoints.servers_nearby() == ()
