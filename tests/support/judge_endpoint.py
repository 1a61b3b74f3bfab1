"""An endpoint's script that is a model and its judge: what is asked with a schema is a question."""

import json
import threading
from collections import Counter

from collect.judges.answer import DIMENSIONS
from tests.support.endpoint import stream_of, usage, whole


def judgement(score=8, *, verdicts=None, **dimensions):
    """Return an answer that fits, as text; a dimension that no word names has the same score."""
    scores = dict.fromkeys(DIMENSIONS, score) | dimensions
    said = {
        "summary": "fine",
        "dimensions": {name: {"score": one, "evidence": []} for name, one in scores.items()},
        "overall": {"score": score, "evidence": ["it says so"]},
    }
    if verdicts is not None:
        said["expectations"] = {
            name: {"verdict": one, "evidence": []} for name, one in verdicts.items()
        }
    return json.dumps(said)


def is_question(body):
    """Return whether a request is one to a judge."""
    return "response_format" in body or body["messages"][0]["role"] == "system"


class JudgedModel:
    """Answers as a model, and as judges.

    Args:
        says: takes the body of a question and how often that prompt was asked before; returns the
            text of the answer, or (status, message).
        answer: of the model.
        seconds: that a judge takes.
    """

    def __init__(self, says=lambda body, n: judgement(), answer="Hello there.", seconds=0.0):
        self.says, self.answer, self.seconds = says, answer, seconds
        self.questions = []
        self._asked = Counter()
        self._lock = threading.Lock()

    def __call__(self, wire, request):
        body = request.body
        if not is_question(body):
            wire.stream(stream_of(self.answer)) if body.get("stream") else wire.answer(
                whole(self.answer)
            )
            return
        with self._lock:
            task = body["messages"][1]["content"].partition("user: ")[2].partition("\n")[0]
            about = body["model"], task
            n_before = self._asked[about]
            self._asked[about] += 1
            self.questions.append(body)
        if self.seconds:
            wire.sleep(self.seconds)
        said = self.says(body, n_before)
        if isinstance(said, tuple):
            status, message = said
            wire.answer({"error": {"message": message}}, status=status)
        elif isinstance(said, dict):
            wire.answer(said)
        else:
            wire.answer(whole(said, usage=usage(900, 90)))
