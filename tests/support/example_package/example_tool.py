"""A tool that a package adds to benchlake."""

from collect.config.tools import ToolKind
from collect.runners.tools.base import ToolResult


class Echo:
    """Says what it is told, louder; an empty text is a mistake."""

    def __init__(self, services):
        self.is_open = services is not None

    async def call(self, arguments, context):
        text = arguments["text"]
        return ToolResult(output={"echo": text[0].upper() + text[1:].upper()})

    async def aclose(self):
        self.is_open = False


ECHO = ToolKind(
    "example_tool:Echo",
    "Say a text louder.",
    {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    },
)
