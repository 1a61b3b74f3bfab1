"""Records golden exchanges against the embedded model: `python -m tests.golden.record`.

Not part of the tests: run it when a provider sends something else than before, and look at what
changed. Ids, dates and the model's own timings differ each time.
"""

import socket
import socketserver
import sys
import threading
from urllib.parse import urlsplit

from collect.local.model import serving
from collect.local.weights import fetch_weights
from tests.golden.exchange import FOLDER, ask, dumped, reply_document, sent

CONTEXT_TOKENS = 512

SYSTEM = {"role": "system", "content": "Be brief."}
FRANCE = {"role": "user", "content": "What is the capital of France?"}
PARIS = {"role": "assistant", "content": "Paris."}
SPAIN = {"role": "user", "content": "And of Spain?"}
LONG = {"role": "user", "content": "word " * 600}


def asked(*messages, stream=True, max_tokens=32, model=(), **settings):
    request = {"messages": messages or (SYSTEM, FRANCE), "timeout_s": 60.0, "stream": stream}
    request |= {"temperature": 0.0, "max_tokens": max_tokens} | settings
    return {"model": {"model": "smollm2-135m"} | dict(model), "request": request}


SCENARIOS = {
    "stream": asked(),
    "whole": asked(stream=False),
    "truncated_stream": asked(max_tokens=3),
    "truncated_whole": asked(max_tokens=3, stream=False),
    "ended_with_the_last_token": asked(max_tokens=8),
    "dialogue": asked(SYSTEM, FRANCE, PARIS, SPAIN),
    "thinking_level": asked(model={"thinking_level": "low"}),
    "wrong_key": asked(),
    "prompt_too_long": asked(LONG),
    "unknown_option": asked(model={"request_options": {"no_such_option": True}}),
    "wrong_option": asked(model={"request_options": {"top_p": "high"}}),
    "another_model": asked(model={"model": "no-such-model"}),
}

OF_CHAT = {"seed": asked(seed=7, temperature=0.8, top_p=0.9)}


class Forwarder(socketserver.ThreadingTCPServer):
    """Passes bytes on both ways and keeps them."""

    daemon_threads = True

    def __init__(self, upstream):
        super().__init__(("127.0.0.1", 0), None)
        self.upstream = upstream
        self.sent, self.received = bytearray(), bytearray()
        self.base_url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def finish_request(self, request, client_address):
        with socket.create_connection(self.upstream) as server:
            back = threading.Thread(target=pump, args=(server, request, self.received))
            back.start()
            pump(request, server, self.sent)
            back.join()


def pump(source, target, kept):
    """Pass bytes on until `source` ends."""
    try:
        while data := source.recv(65536):
            kept += data
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:  # the other side has gone
        return


def record(local, provider, name, wanted):
    """Write the three files of one scenario."""
    address = urlsplit(local.base_url)
    with Forwarder((address.hostname, address.port)) as forwarder:
        key = "not-the-key" if name == "wrong_key" else local.api_key
        reply = ask(provider, wanted, forwarder.base_url, key)
        forwarder.shutdown()
    folder = FOLDER / provider
    folder.mkdir(exist_ok=True)
    request = {"asked": wanted, "sent": sent(bytes(forwarder.sent))}
    (folder / f"{name}.request.json").write_text(dumped(request))
    (folder / f"{name}.response.http").write_bytes(forwarder.received)
    (folder / f"{name}.reply.json").write_text(dumped(reply_document(reply)))
    sys.stdout.write(f"{provider}/{name}: {reply.failure_type or reply.text!r}\n")


def main():
    with serving(fetch_weights(), context_tokens=CONTEXT_TOKENS) as local:
        for provider, more in (
            ("openai_chat", OF_CHAT),
            ("openai_responses", {}),
            ("anthropic_messages", {}),
        ):
            for name, wanted in (SCENARIOS | more).items():
                record(local, provider, name, wanted)


if __name__ == "__main__":
    main()
