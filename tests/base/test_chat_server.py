"""What a server with a language model is sent, and answers that are good, bad, slow or none."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading

import pytest
from chat_stand_in import StandIn, chat

from dplda.base.chat_server import ChatServer, RequestRefused
from dplda.base.errors import InputError


def test_the_server_is_sent_the_question_and_nothing_else(server: StandIn) -> None:
    server.body = chat("An answer.")
    assert ChatServer(f"{server.address}/", "small").ask("Task.", "Question?", temperature=0.5) == "An answer."
    [(path, sent, headers)] = server.asked
    assert path == "/v1/chat/completions"
    messages = [{"role": "system", "content": "Task."}, {"role": "user", "content": "Question?"}]
    assert sent == {"model": "small", "messages": messages, "temperature": 0.5, "stream": False}
    assert not {name.lower() for name in headers} & {"authorization", "cookie"}


def test_no_proxy_sees_the_question(server: StandIn) -> None:
    server.body = chat("An answer.")
    ask = "import sys; from dplda.base.chat_server import ChatServer; print(ChatServer(sys.argv[1], 'm').ask('', ''))"
    nobody = dict.fromkeys(("http_proxy", "HTTP_PROXY", "all_proxy"), "http://127.0.0.1:9")
    environment = {**os.environ, **nobody, "no_proxy": "", "NO_PROXY": ""}
    done = subprocess.run(
        [sys.executable, "-c", ask, server.address], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("An answer.\n", "")


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"\xff\xfe", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": null}]}', b"[" * 100_000),
        *(chat(None), chat("x" * (1 << 20))),
    ],
)
def test_what_is_no_answer_or_too_large_is_empty(server: StandIn, body: bytes) -> None:
    server.body = body
    small = ChatServer(server.address, "small")
    assert small.ask("Task.", "Question?") == ""
    if body == chat(None):  # a chat completion that says nothing
        small.try_out("Task.", "Question?")
        return
    with pytest.raises(InputError, match="not as a language model"):
        small.try_out("Task.", "Question?")


@pytest.mark.parametrize(
    ("status", "told"), [(500, "status 500"), (404, "does it know the model"), (302, "status 302")]
)
def test_a_server_that_refuses_or_redirects_is_one_clear_line(server: StandIn, status: int, told: str) -> None:
    server.status = status
    with pytest.raises(InputError, match=told):
        ChatServer(server.address, "small").ask("Task.", "Question?")
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 503])
def test_statuses_that_refuse_one_request_are_told_from_those_that_may_follow_from_others(server, status):
    server.status = status
    with pytest.raises(InputError) as error:
        ChatServer(server.address, "small").ask("Task.", "Question?")
    assert isinstance(error.value, RequestRefused) == (status in (400, 413, 422))


def test_a_server_that_is_slow_or_absent_is_one_clear_line(server: StandIn) -> None:
    server.seconds = 1.0
    with pytest.raises(InputError, match="timeout long enough"):
        ChatServer(server.address, "small", seconds=0.2).ask("Task.", "Question?")
    with pytest.raises(InputError, match=r"127.0.0.1:9"):
        ChatServer("http://127.0.0.1:9/v1", "small").ask("Task.", "Question?")


def test_what_is_no_web_server_is_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            connection, _ = listening.accept()
            connection.recv(1 << 16)
            connection.sendall(b"220 mail ready\r\n")
            connection.close()

        threading.Thread(target=greet, daemon=True).start()
        with pytest.raises(InputError, match="BadStatusLine"):
            ChatServer(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", "small").ask("Task.", "Question?")


@pytest.mark.parametrize("endpoint", ["localhost:11434", "file:///etc/passwd", "ftp://host/v1", ""])
def test_other_addresses_are_refused(endpoint: str) -> None:
    with pytest.raises(InputError, match="endpoint"):
        ChatServer(endpoint, "small")


@pytest.mark.parametrize("endpoint", ["http://[x]/v1", "http://[::1/", "ftp://localhost", "localhost:1"])
def test_what_is_no_address_is_refused(endpoint: str) -> None:
    with pytest.raises(InputError, match="must be an address"):
        ChatServer(endpoint, "a model")
