"""A language model on a server that the user names. Whatever it answers is text, never markup or an instruction."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from ipaddress import ip_address
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

from dplda.base.errors import InputError

_LARGEST_ANSWER = 1 << 18  # bytes
_REFUSED = (400, 413, 422)  # statuses of a request that the server cannot take: too long, or against its rules


class RequestRefused(InputError):
    """The server works, and refuses what it was asked. No other status says so: 429 and 5xx may follow from load."""


@dataclass(frozen=True)
class ChatServer:
    """A server with the chat interface of OpenAI. Raises `InputError` for an address that is not of the web."""

    endpoint: str
    """Its address, such as ``http://localhost:11434/v1``."""
    model: str
    """The name of the language model."""
    seconds: float = 60.0
    """How long the server may be silent."""

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.endpoint)
        except ValueError:  # no address
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.netloc or set(parts.netloc) & set("%@\\"):
            raise InputError(
                f"the endpoint must be an address such as http://localhost:11434/v1, got {self.endpoint!r}."
            )

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine, so that what it is asked stays there."""
        host = urlsplit(self.endpoint).hostname or ""
        try:
            return host == "localhost" or ip_address(host).is_loopback
        except ValueError:  # a name
            return False

    def ask(self, task: str, question: str, *, temperature: float = 0.0) -> str:
        """Return the model's answer to `question`, under the instructions in `task`; empty if the server sends none.

        Nothing but these arguments and the name of the model is sent, and to the named server alone. Raises
        `RequestRefused` if the server refuses this request, and `InputError` if it cannot be reached, refuses for
        another reason, or does not answer in time.
        """
        return self._chat(task, question, temperature) or ""

    def try_out(self, task: str, question: str) -> None:
        """Raise `InputError` unless the server answers `question` with a chat completion, whatever it says."""
        if self._chat(task, question, 0.0) is None:
            raise InputError(
                f"{self.endpoint} answered, and not as a language model. Is this the address of an OpenAI-compatible "
                "server, such as http://localhost:11434/v1?"
            )

    def _chat(self, task: str, question: str, temperature: float) -> str | None:
        """Return the text of the answer, empty if it has none; None for what is no chat completion."""
        messages = [{"role": "system", "content": task}, {"role": "user", "content": question}]
        sent = {"model": self.model, "messages": messages, "temperature": temperature, "stream": False}
        address, headers = f"{self.endpoint.rstrip('/')}/chat/completions", {"Content-Type": "application/json"}
        try:
            request = urllib.request.Request(address, json.dumps(sent).encode(), headers)
            with _DIRECT.open(request, timeout=self.seconds) as response:
                answer = response.read(_LARGEST_ANSWER)
        except (OSError, ValueError, HTTPException) as error:
            # The server's own words may repeat what it was asked, which may be a private text.
            reason, kind = type(error).__name__, InputError
            if isinstance(error, HTTPError):
                reason, kind = f"status {error.code}", RequestRefused if error.code in _REFUSED else InputError
                error.close()
            raise kind(
                f"{self.endpoint} did not answer ({reason}). Is the server running, does it know the model, and is the "
                "timeout long enough?"
            ) from None
        try:
            text = json.loads(answer)["choices"][0]["message"]["content"]
        except (ValueError, KeyError, IndexError, TypeError, RecursionError):
            return None
        return text if isinstance(text, str) else ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow no redirect: what is asked is sent to the named server alone."""


_DIRECT = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({}))
