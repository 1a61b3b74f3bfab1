"""Parts of a request body that no `request_options` may hold, and why.

A trial is one question of one case to one model, and one answer in text. What would make it
another number of answers, another question, another model or another bill is decided elsewhere,
where plans, hashes and `--max-cost` see it. All else goes into the body as it stands: also
`stream_options` (some servers refuse it, and null takes it out), `logprobs` (the text is the same),
`store` (what the vendor keeps is the user's to say), `tools` (a call counts as one) and what says
who serves a model or how it samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

SEVERAL = (
    "asks for several answers, and a trial is one: `run_repetitions` of the run profile asks again"
)
TEXT = "would replace or add to what is asked, which is the case's text"
MODEL = "names the model, and `requested_model` does that"
OTHERS = "lets other models answer under this one's name, at other prices"
STREAM = "is decided by the setting `stream` of the run profile"
LATER = "is answered before there is an answer"
EARLIER = "brings in an earlier conversation, and every trial begins anew"
NO_TEXT = "asks for more than text, which nothing reads, at other prices"
ECHO = "puts the prompt into the answer"
UNSEEN = "bills tokens that are in no answer, beyond what `--max-cost` can reserve"

RESERVED: Mapping[str, str] = {
    "n": SEVERAL,
    "best_of": SEVERAL,
    "n_cmpl": SEVERAL,  # llama.cpp
    "num_return_sequences": SEVERAL,  # Hugging Face
    "candidate_count": SEVERAL,  # Gemini
    "messages": TEXT,
    "input": TEXT,
    "prompt": TEXT,
    "system": TEXT,
    "suffix": TEXT,
    "model": MODEL,
    "models": OTHERS,
    "fallbacks": OTHERS,
    "stream": STREAM,
    "background": LATER,
    "conversation": EARLIER,
    "previous_response_id": EARLIER,
    "modalities": NO_TEXT,
    "audio": NO_TEXT,
    "echo": ECHO,
    "prediction": UNSEEN,
}
"""Names in the bodies of the chat, Responses and Messages APIs, and of servers that speak them."""


def reserved(names: Iterable[str]) -> dict[str, str]:
    """Return those of some request options that are none, each with the reason."""
    return {name: RESERVED[name] for name in names if name in RESERVED}
