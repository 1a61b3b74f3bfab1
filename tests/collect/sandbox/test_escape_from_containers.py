"""What a hostile command tries, in a container of podman; what differs there is in test_engine.

Limits on memory, processes and time are the engine's there, accounts and folders those of the
image, a network of its own never leads to this machine, and podman lets users make namespaces.
"""

import os

import pytest

from collect.sandbox.engine import Engine
from schemas.config.sandbox import SandboxProfile
from tests.collect.sandbox.test_escape import (  # noqa: F401 - each is run here again
    canaries,
    test_a_file_is_bounded,
    test_a_gigabyte_of_output_is_cut,
    test_a_server_inside_is_its_own,
    test_hostile_trees_are_removed,
    test_links_lead_nowhere,
    test_no_environment_and_no_process_of_this_machine_is_seen,
    test_no_file_of_this_user_is_found,
    test_no_process_of_this_machine_is_traced,
    test_nothing_but_its_own_folders_can_be_written,
    test_nothing_goes_on_when_a_command_is_answered_for,
    test_odd_names_are_kept,
    test_output_comes_back_byte_for_byte,
    test_shared_memory_is_bounded,
    token,
)
from tests.support import containers
from tests.support.cage import LIMITS, Cage

pytestmark = pytest.mark.agents


@pytest.fixture(scope="module")
def cage():
    containers.needs("podman", "runc")
    if os.geteuid() != 0:
        pytest.skip("without root it needs control groups that systemd has delegated")
    image = containers.make_image("podman", has_python=True)
    profile = SandboxProfile(backend="podman", image=image, limits=LIMITS)
    cage = Cage(profile, Engine("podman", image, LIMITS))
    yield cage
    cage.close()
    containers.remove_images("podman")
