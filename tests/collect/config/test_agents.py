"""Agents: what they mean, what their fingerprint covers, and what is refused."""

import hashlib

import pytest

from collect.config.agents import agent_fingerprint, load_agent
from schemas.config.agent import WORKSPACE_FILES, placeholder
from schemas.errors import ConfigError

WHOLE = """
schema_version: 1
agent_id: desk
title: Support desk
description: Answers tickets from files.
tags: [support]
openclaw:
  identity: {name: Robin}
  agents_defaults: {timeoutSeconds: 60}
  agent: {id: support-desk, prompt: Answer from the files only.}
  model_defaults:
    aliases: {main: desk-model}
    primary_params: {temperature: 0}
metadata: {team: a}
"""
PLACE = "configs/agents/desk"


@pytest.fixture
def desk(project):
    project.write(f"{PLACE}/agent.yaml", WHOLE)
    project.write(f"{PLACE}/workspace/AGENTS.md", "Read first.\n")
    project.write(f"{PLACE}/workspace/tickets/1.md", "It broke.\n")
    return project


def load(project):
    return load_agent("desk", project.root)


def said(project, name="desk"):
    with pytest.raises(ConfigError) as caught:
        load_agent(name, project.root)
    return str(caught.value)


def change(project, old, new):
    text = (project.root / PLACE / "agent.yaml").read_text()
    assert old in text
    project.write(f"{PLACE}/agent.yaml", text.replace(old, new))


def test_the_whole_example_means_what_it_says(desk):
    loaded = load(desk)

    assert loaded.agent.openclaw.agent["id"] == "support-desk"
    assert loaded.agent.openclaw.model_defaults.aliases == {"main": "desk-model"}
    assert loaded.sha256 == hashlib.sha256(WHOLE.encode()).hexdigest()
    names = [entry.relative_path for entry in loaded.workspace]
    assert names == sorted([*WORKSPACE_FILES, "tickets/1.md"])
    sources = {entry.relative_path: entry.source for entry in loaded.workspace}
    assert sources["AGENTS.md"] == sources["tickets/1.md"] == "template"
    assert sources["SOUL.md"] == "placeholder"
    (soul,) = [entry for entry in loaded.workspace if entry.relative_path == "SOUL.md"]
    raw = placeholder("SOUL.md").encode()
    assert (soul.sha256, soul.size_bytes) == (hashlib.sha256(raw).hexdigest(), len(raw))


def test_loading_twice_gives_the_same(desk):
    assert load(desk) == load(desk)
    assert agent_fingerprint(load(desk)) == agent_fingerprint(load(desk))


@pytest.mark.parametrize(
    ("old", "new", "matters"),
    [
        ("Support desk", "Help desk", False),
        ("Answers tickets", "Answers letters", False),
        ("[support]", "[other]", False),
        ("team: a", "team: b", False),
        ("name: Robin", "name: Kim", False),
        ("timeoutSeconds: 60", "timeoutSeconds: 61", True),
        ("id: support-desk", "id: desk", True),
        ("from the files only", "freely", True),
        ("main: desk-model", "main: other", True),
        ("temperature: 0", "temperature: 1", True),
    ],
)
def test_the_fingerprint_covers_what_can_change_behaviour(desk, old, new, matters):
    before = agent_fingerprint(load(desk))

    change(desk, old, new)

    assert (agent_fingerprint(load(desk)) != before) is matters


def test_the_fingerprint_covers_every_file_of_the_workspace(desk):
    seen = {agent_fingerprint(load(desk))}
    place = desk.root / PLACE / "workspace"

    (place / "AGENTS.md").write_text("Read later.\n")
    seen.add(agent_fingerprint(load(desk)))
    (place / ".hidden").write_text("x")
    seen.add(agent_fingerprint(load(desk)))
    (place / "tickets" / "1.md").rename(place / "tickets" / "2.md")
    seen.add(agent_fingerprint(load(desk)))

    assert len(seen) == 4


def test_a_placeholder_written_out_is_the_same_workspace(desk):
    before = agent_fingerprint(load(desk))
    desk.write(f"{PLACE}/workspace/USER.md", placeholder("USER.md"))

    assert agent_fingerprint(load(desk)) == before


def test_an_id_of_its_own_is_the_one_that_openclaw_is_told(desk):
    change(desk, "id: support-desk, ", "")
    without = agent_fingerprint(load(desk))
    change(desk, "prompt:", "id: desk, prompt:")

    assert agent_fingerprint(load(desk)) == without


def test_a_link_inside_the_workspace_is_what_it_leads_to(desk):
    place = desk.root / PLACE / "workspace"
    (place / "first.md").symlink_to("tickets/1.md")

    entries = {entry.relative_path: entry.sha256 for entry in load(desk).workspace}

    assert entries["first.md"] == entries["tickets/1.md"]


def test_an_unknown_agent_names_the_nearest(desk):
    assert "no agent `deks`; allowed: desk; did you mean `desk`?" in said(desk, "deks")


def test_all_problems_of_an_agent_come_together(desk):
    change(desk, "agent_id: desk", "agent_id: other")
    (desk.root / PLACE / "workspace" / "gone").symlink_to("nowhere")

    text = said(desk)

    assert "differs from its folder" in text
    assert "is a link that leads nowhere" in text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("aliases:", "fallbacks: [x]\n    aliases:", "a run is of exactly one model"),
        ("id: support-desk", "id: 7", "`id` must be text"),
        ("prompt: Answer from the files only.", "prompt: ' '", "`prompt` must be text"),
        ("timeoutSeconds: 60", "model: x", "`openclaw.agents_defaults`: `model`: the suite names"),
        ("id: support-desk", "primary_model: x", "`primary_model`: the suite names"),
        ("aliases:", "default_model: x\n    aliases:", "`default_model`: the suite names"),
        ("identity:", "idenity:", "did you mean `identity`?"),
    ],
)
def test_a_mistake_is_explained(desk, old, new, message):
    change(desk, old, new)

    assert message in said(desk)


def test_empty_folders_are_not_part_of_a_workspace(desk):
    before = load(desk).workspace
    (desk.root / PLACE / "workspace" / "empty").mkdir()

    assert load(desk).workspace == before
