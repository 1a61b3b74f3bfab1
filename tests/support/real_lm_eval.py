"""The real lm-evaluation-harness, on small tasks of its own and a model that is scripted."""

import json
import os
import subprocess
from functools import partial

import pytest

from tests.support.own_sample import ANSWERS, REPEATS, Said
from tests.support.paths import TOOLS

PYTHON = TOOLS / "lm-eval-0.4.13/bin/python"

MAIN = """
import json, sys
from lm_eval.__main__ import cli_evaluate
for words in json.loads(sys.argv[1]):
    sys.argv = words
    cli_evaluate()
"""

NO_WAY_OUT = {
    "HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1",
}  # fmt: skip

COUNTRIES = [("France", 0), ("Italy", 1), ("Spain", 2), ("Gaul", 0), ("Latium", 1)]

FILTERS = """
filter_list:
  - name: strict
    filter:
      - {function: regex, regex_pattern: "(-?[0-9]+)$"}
      - {function: take_first}
  - name: loose
    filter:
      - {function: regex, regex_pattern: "(-?[0-9]+)"}
      - {function: majority_vote}
      - {function: take_first}
"""


def real_lm_eval():
    """Return the harness' Python; in CI its absence is a failure, elsewhere a reason to skip."""
    if not PYTHON.exists():
        why = "needs lm-evaluation-harness: make lm-eval"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    return PYTHON


def _sums(task, data, repeats):
    return f"""
task: {task}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
output_type: generate_until
test_split: test
doc_to_text: "Q: {{{{question}}}}\\nA:"
doc_to_target: "{{{{answer}}}}"
repeats: {repeats}
generation_kwargs: {{until: ["\\n"], max_gen_toks: 16}}
{FILTERS}
metric_list:
  - {{metric: exact_match, aggregation: mean, higher_is_better: true}}
metadata: {{version: 1.5}}
"""


def write_tasks(folder):
    """Write three tasks that generate, one of choices; a group of two and it, and one of two."""
    folder.mkdir()
    for task, n, repeats in (("sums", 7, 3), ("few_sums", 2, 1)):
        data = folder / f"{task}.jsonl"
        rows = [{"question": f"{i}+{i}", "answer": str(2 * i)} for i in range(n)]
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / f"{task}.yaml").write_text(_sums(task, data, repeats))
    data = folder / "own_sums.jsonl"
    rows = [{"question": one, "answer": str(2 * int(one[:3]))} for one in ANSWERS]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "own_sums.yaml").write_text(_sums("own_sums", data, REPEATS))
    data = folder / "capitals.jsonl"
    rows = [{"country": country, "label": label} for country, label in COUNTRIES]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "capitals.yaml").write_text(f"""
task: capitals
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
output_type: multiple_choice
test_split: test
doc_to_text: "The capital of {{{{country}}}} is"
doc_to_choice: ["Paris", "Rome", "Madrid"]
doc_to_target: "{{{{label}}}}"
metric_list:
  - {{metric: acc, aggregation: mean, higher_is_better: true}}
  - {{metric: acc_norm, aggregation: mean, higher_is_better: true}}
metadata: {{version: 0}}
""")
    groups = (("pooled", "true", ", capitals"), ("plain", "false", ""))
    for group, weighted, more in groups:
        (folder / f"{group}.yaml").write_text(f"""
group: {group}
task: [sums, few_sums{more}]
aggregate_metric_list:
  - {{metric: exact_match, filter_list: strict, aggregation: mean, weight_by_size: {weighted}}}
metadata: {{version: 1}}
""")
    return folder


def script(own_said, wire, request):
    """Answer as a server of completions with a tokenizer of one token a character."""
    path, body = request.line.split()[1], request.body
    if path == "/tokenizer_info":
        wire.answer({"eos_token": "\0", "bos_token": None, "pad_token": None})
    elif path == "/tokenize":
        wire.answer({"tokens": [ord(char) for char in body["prompt"]]})
    elif path.endswith("/chat/completions"):
        said = _said(body["messages"][-1]["content"], own_said)
        message = {"role": "assistant", "content": said}
        wire.answer({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    elif body.get("echo"):
        wire.answer({"choices": [_likely(n, one) for n, one in enumerate(body["prompt"])]})
    else:
        texts = ["".join(map(chr, one)) for one in body["prompt"]]
        said = [_said(one, own_said) for one in texts]
        wire.answer({"choices": [{"index": n, "text": one} for n, one in enumerate(said)]})


def _said(prompt, own_said):
    """Say the sum as it should be, in a sentence, or another one: by its first number."""
    asked = prompt.rpartition("Q: ")[2].partition("\n")[0]
    if asked in ANSWERS:
        return f" {own_said(asked)}"
    number = int(asked.partition("+")[0])
    return (f" {2 * number}", f" {2 * number} it is", f" It is {number + 1}")[number % 3]


def _likely(index, tokens):
    chances = [None, *(-((7 * token + n) % 5) / 4 - 0.25 for n, token in enumerate(tokens[1:]))]
    tops = [None, *({"x": one} for one in chances[1:])]
    logprobs = {"token_logprobs": [*chances, -1.0], "top_logprobs": [*tops, {"x": -1.0}]}
    return {"index": index, "logprobs": logprobs}


def words_of(tasks, endpoint, folder, names, *, chat=False):
    """Return what the command is called with.

    Args:
        tasks: folder of the tasks.
        endpoint: that is asked.
        folder: takes its output.
        names: of tasks and groups.
        chat: ask by chat completions.
    """
    kind = "local-chat-completions" if chat else "local-completions"
    path = "chat/completions" if chat else "completions"
    arguments = f"model=acme/tiny,base_url={endpoint.base_url}/{path},num_concurrent=1"
    if not chat:
        arguments += ",tokenizer_backend=remote,tokenized_requests=True"
    words = [
        "lm_eval", "run", "--model", kind, "--model_args", arguments, "--tasks", names,
        "--include_path", tasks, "--output_path", folder, "--log_samples",
        *["--apply_chat_template"] * chat,
    ]  # fmt: skip
    return list(map(str, words))


def evaluate(folder, endpoint, *commands):
    """Let the harness evaluate by each command, one after the other in one process.

    Its modules take longer to load than its work does.

    Args:
        folder: of its own cache.
        endpoint: takes `script`.
        commands: of `words_of`.
    """
    endpoint.script = partial(script, Said())
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    home = {"HF_HOME": str(folder / "hf"), "OPENAI_API_KEY": "none"}
    done = subprocess.run(
        [real_lm_eval(), "-c", MAIN, json.dumps(commands)],
        env=kept | NO_WAY_OUT | home, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
