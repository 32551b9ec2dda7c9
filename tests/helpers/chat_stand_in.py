"""A stand-in for the server of a language model, which answers what a test says and notes what it was sent."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


class StandIn:
    """What the server of a test answers, and what it was sent."""

    def __init__(self) -> None:
        self.address, self.body, self.status, self.seconds = "", b"", 200, 0.0
        self.reply: Callable[[str], bytes] | None = None  # the body for a question, in place of `body`
        self.asked: list[tuple[str, dict[str, Any], dict[str, str]]] = []

    @property
    def questions(self) -> list[str]:
        """What the user's messages said."""
        return [sent["messages"][1]["content"] for _, sent, _ in self.asked]


def chat(content: str | None) -> bytes:
    """The body of an answer that says `content`."""
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()


@contextmanager
def stand_in() -> Iterator[StandIn]:
    """Run a server, which answers as the given object says."""
    answer = StandIn()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            answer.asked.append((self.path, json.loads(self.rfile.read(length)), dict(self.headers)))
            body = answer.body if answer.reply is None else answer.reply(answer.questions[-1])
            time.sleep(answer.seconds)
            with suppress(ConnectionError):  # whoever asked may have gone
                self.send_response(answer.status)
                if 300 <= answer.status < 400:
                    self.send_header("Location", "http://127.0.0.1:1/elsewhere")
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    running = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()  # polls for the shutdown
    answer.address = f"http://127.0.0.1:{running.server_port}/v1"
    yield answer
    running.shutdown()
    running.server_close()
