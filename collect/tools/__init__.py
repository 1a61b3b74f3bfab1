"""Tools a model may use, and how their use is recognised."""

from collect.tools.detect import ToolUse, detect_tools, tool_use

__all__ = ["ToolUse", "detect_tools", "tool_use"]
