"""What peers.py tells each tool to do."""

from __future__ import annotations

import argparse


def parse_work() -> argparse.Namespace:
    """Read the work from the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--base-url", required=True)
    parser.add_argument("-n", type=int, required=True)
    parser.add_argument("--concurrency", type=int, required=True)
    parser.add_argument("--tokens", type=int, required=True)
    return parser.parse_args()
