"""The sandbox of a run profile names an image where it needs one, and one that stays the same."""

import pytest
from pydantic import ValidationError

from schemas.config.sandbox import SandboxProfile

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    "image",
    [
        "python:3.12.4",
        f"python@{DIGEST}",
        f"python:latest@{DIGEST}",
        "registry.example:5000/team/tools:2024-06",
        DIGEST,
    ],
)
def test_a_pinned_image_is_taken(image):
    assert SandboxProfile(backend="podman", image=image).image == image


@pytest.mark.parametrize(
    "image",
    [
        "python",
        "python:latest",
        "registry.example:5000/tools",
        "registry.example:5000/tools:latest",
    ],
)
def test_an_image_that_may_be_another_one_tomorrow_is_refused(image):
    with pytest.raises(ValidationError, match="must be pinned"):
        SandboxProfile(backend="docker", image=image)


@pytest.mark.parametrize(
    "image", ["--privileged", "", "a b:1", "python@sha256:12", "python:1@md5:00", "tools:1\n"]
)
def test_what_is_no_name_of_an_image_is_refused(image):
    with pytest.raises(ValidationError, match="image"):
        SandboxProfile(backend="podman", image=image)


def test_image_and_cores_are_of_containers_alone():
    with pytest.raises(ValidationError, match="need an `image`"):
        SandboxProfile(backend="podman")
    with pytest.raises(ValidationError, match="`image` is for"):
        SandboxProfile(image="python:3.12.4")
    with pytest.raises(ValidationError, match="`cores` is for"):
        SandboxProfile.model_validate({"limits": {"cores": 2}})
    profile = {"backend": "podman", "image": "python:3.12.4", "limits": {"cores": 2}}
    assert SandboxProfile.model_validate(profile).limits.cores == 2
