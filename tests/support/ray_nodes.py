"""A Ray cluster of two nodes in a process of its own, one of which can be killed.

`python ray_nodes.py` prints the address, kills the second node at the word `kill`, and ends with
its standard input.
"""

import importlib.util
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

MEMORY = 200 << 20


def need_ray():
    """Skip, or in CI fail, where Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        reason = "nothing was collected on a Ray cluster; missing: ray (make ray)"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


class Nodes:
    """The cluster, from outside."""

    def __init__(self, process, address):
        self._process = process
        self.address = address

    def kill_one(self):
        """End a node at once, and with it what it runs."""
        self._process.stdin.write("kill\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "killed\n"


@contextmanager
def two_nodes():
    """Give a head without cores, and two nodes of one core each."""
    need_ray()
    env = os.environ | {"RAY_USAGE_STATS_ENABLED": "0"}
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).resolve())],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, env=env,
    )  # fmt: skip
    try:
        yield Nodes(process, json.loads(process.stdout.readline())["address"])
    finally:
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()


def main():
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": MEMORY}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=MEMORY) for _ in range(2)]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    out.write(json.dumps({"address": cluster.address}) + "\n")
    out.flush()
    for line in sys.stdin:
        if line == "kill\n":
            cluster.remove_node(nodes.pop(), allow_graceful=False)
            out.write("killed\n")
            out.flush()
    cluster.shutdown()


if __name__ == "__main__":
    main()
