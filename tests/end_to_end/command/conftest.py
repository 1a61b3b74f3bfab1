"""Which agents are tried: one that is too large for every change only by `make mini-swe-agent`."""

import os

collect_ignore = [] if "MINI_SWE_AGENT" in os.environ else ["test_mini_swe_agent.py"]
