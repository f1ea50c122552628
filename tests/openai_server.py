"""A server on loopback that speaks OpenAI's protocol, for tests: real sockets, scripted faults.

Use as a context manager::

    with OpenAIServer(answer=lambda request: '{"facts": []}') as server:
        server.inject(Fault.RATE_LIMIT, Fault.CUT)      # the next two calls
        client = Client(LlmSettings(base_url=server.url, api_key="sk-test", …))
        …
        assert server.count.requests == 3

It keeps its own book (:class:`Count`) of what reached it and of what it answered.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

_PIECE = re.compile(r"[^\W\d_]+|\d{1,3}|(?:[^\w\s]|_)+|\s*\n+|\s{2,}")


def count_tokens(text: str) -> int:
    """Tokens as this server bills them.

    A rule of its own, on purpose not the client's estimate: three digits, three capitals,
    ten other letters and a run of signs or of white space make one token each.
    """
    return sum(
        1 + (len(piece) - 1) // (3 if piece.isupper() else 10) for piece in _PIECE.findall(text)
    )


class Fault(Enum):
    """What may go wrong with one request; see :meth:`OpenAIServer.inject`."""

    RATE_LIMIT = "429 with Retry-After"
    QUOTA = "429 insufficient_quota"
    ERROR = "500"
    OVERLOAD = "503"
    AUTH = "401 that echoes the key"
    REFUSE = "400 that echoes the document"
    TOO_LONG = "400 context_length_exceeded"
    CUT = "connection closed before any answer"
    CUT_BODY = "connection closed in the middle of the body"
    SLOW = "an answer that comes in drops, after `slow_s` seconds"
    NOT_JSON = "200 whose body is a page of HTML"
    TRUNCATED = "content cut in the middle, finish_reason length"
    WRONG_SCHEMA = "valid JSON of another schema"
    FENCED = "content in a Markdown fence with prose around"
    THINKING = "thinking tags before the content"
    ECHOED_SCHEMA = "the schema itself instead of an instance"
    REFUSAL = "the model refuses"
    EMPTY = "content is empty"
    NULL = "content is null"
    NO_USAGE = "no token counts"


@dataclass(frozen=True)
class Request:
    """One request as the server saw it."""

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    at: float = 0.0
    """When it came, on the monotonic clock."""

    @property
    def messages(self) -> list[dict[str, str]]:
        return list(self.body.get("messages", ()))

    @property
    def text(self) -> str:
        """All message contents, joined."""
        return "\n".join(message["content"] for message in self.messages)

    @property
    def level(self) -> str:
        """structured, json or text."""
        kind = (self.body.get("response_format") or {}).get("type", "text")
        return {"json_schema": "structured", "json_object": "json"}.get(kind, "text")


@dataclass(frozen=True)
class Count:
    """The server's own book.

    ``answered`` are the requests whose whole HTTP answer was sent, whatever its status;
    ``completed`` those of them that were billed (status 200), whose tokens are summed.
    """

    requests: int = 0
    answered: int = 0
    completed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    most_at_once: int = 0
    statuses: Mapping[int, int] = field(default_factory=dict)


Answer = Callable[[Request], str]


class OpenAIServer:
    """See the module. All attributes may be changed while it runs.

    Parameters
    ----------
    answer
        Content of a chat reply, from the request.
    levels
        The response formats that the endpoint knows; others are refused with 400.
    unknown_parameters
        Request parameters that it refuses by name.
    dimension
        Length of its embeddings.
    retry_after
        Header of ``Fault.RATE_LIMIT``; None leaves it out.
    delay_s
        Seconds before each answer.
    cached
        Share of the prompt's tokens reported as cached.
    """

    def __init__(
        self,
        answer: Answer | None = None,
        *,
        levels: Iterable[str] = ("structured", "json", "text"),
        unknown_parameters: Iterable[str] = (),
        dimension: int = 8,
        retry_after: str | None = "1",
        delay_s: float = 0.0,
        slow_s: float = 5.0,
        cached: float = 0.0,
        port: int = 0,
    ) -> None:
        self.answer: Answer = answer or (lambda request: "{}")
        self.levels = frozenset(levels)
        self.unknown_parameters = frozenset(unknown_parameters)
        self.dimension, self.retry_after = dimension, retry_after
        self.delay_s, self.slow_s, self.cached = delay_s, slow_s, cached
        self.fault_of: Callable[[Request], Fault | None] = lambda request: None
        self.requests: list[Request] = []
        self.count = Count()
        self._faults: deque[Fault | None] = deque()
        self._at_once = 0
        self._lock = threading.Lock()
        self._server = _Listener(("127.0.0.1", port), _Handler)
        self._server.daemon_threads = True
        self._server.owner = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def inject(self, *faults: Fault | None) -> None:
        """Faults of the next requests, in order; None lets one pass.

        For faults by content or by chance set ``fault_of`` (asked when this queue is empty).
        """
        with self._lock:
            self._faults.extend(faults)

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # --- the book, as the handler keeps it ----------------------------------------------

    def _arrived(self, request: Request) -> Fault | None:
        with self._lock:
            self.requests.append(request)
            self._at_once += 1
            self.count = replace(
                self.count,
                requests=self.count.requests + 1,
                most_at_once=max(self.count.most_at_once, self._at_once),
            )
            if self._faults:
                return self._faults.popleft()
        return self.fault_of(request)

    def _about_to_answer(self) -> None:
        with self._lock:
            self._at_once -= 1

    def _answered(self, status: int, usage: Mapping[str, Any]) -> None:
        tokens_in = int(usage.get("prompt_tokens", 0))
        with self._lock:
            count = self.count
            self.count = replace(
                count,
                answered=count.answered + 1,
                completed=count.completed + (status == 200),
                tokens_in=count.tokens_in + tokens_in,
                tokens_out=count.tokens_out + int(usage.get("completion_tokens", 0)),
                tokens_cached=count.tokens_cached
                + int((usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)),
                statuses={**count.statuses, status: count.statuses.get(status, 0) + 1},
            )


class _Listener(ThreadingHTTPServer):
    owner: OpenAIServer
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body are two writes: without this each answer waits for a delayed ACK.
    disable_nagle_algorithm = True
    server: _Listener

    def log_message(self, format: str, *args: object) -> None:
        """No log."""

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            self._send(200, {"object": "list", "data": [{"id": "test-model", "object": "model"}]})
        else:
            self._send(404, _error("no such address", code="not_found"))

    def do_POST(self) -> None:
        owner = self.server.owner
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length) or b"{}")
        request = Request(self.path, body, dict(self.headers.items()), time.monotonic())
        fault = owner._arrived(request)
        if owner.delay_s:
            time.sleep(owner.delay_s)
        # Before the answer leaves: once the client has it, it may send the next one.
        owner._about_to_answer()
        if fault is Fault.CUT:
            self._hang_up()
            return
        status, headers, payload = self._reply(request, fault)
        if fault is Fault.CUT_BODY:
            self._send_half(payload)
        elif fault is Fault.SLOW:
            self._drip(payload)
        else:
            usage = payload.get("usage", {}) if isinstance(payload, dict) else {}
            # Booked first, so that the book is up to date when the client has its answer.
            owner._answered(status, usage)
            if fault is Fault.NO_USAGE and isinstance(payload, dict):
                payload.pop("usage", None)
            self._send(status, payload, headers)

    def _reply(
        self, request: Request, fault: Fault | None
    ) -> tuple[int, dict[str, str], dict[str, Any] | str]:
        owner = self.server.owner
        if fault in _STATUS:
            status, message, code = _STATUS[fault]
            headers = {}
            if fault is Fault.RATE_LIMIT and owner.retry_after is not None:
                headers["Retry-After"] = owner.retry_after
            echoes: dict[Fault | None, str] = {
                Fault.AUTH: request.headers.get("Authorization", ""),
                Fault.REFUSE: request.text,
            }
            echo = echoes.get(fault, "")
            return status, headers, _error(f"{message} {echo}", code=code)
        for name in owner.unknown_parameters & request.body.keys():
            message = f"Unsupported parameter: '{name}' is not supported with this model."
            return 400, {}, _error(message, code="unsupported_parameter", param=name)
        if request.path == "/v1/embeddings":
            return 200, {}, _embeddings(request, owner.dimension)
        if request.path != "/v1/chat/completions":
            return 404, {}, _error("no such address", code="not_found")
        if request.level not in owner.levels:
            return 400, {}, _error("'response_format' of this type is not supported")
        if fault is Fault.NOT_JSON:
            return 200, {}, "<html><body>Bad gateway</body></html>"
        return 200, {}, _completion(request, owner.answer(request), fault, owner.cached)

    def _send(
        self, status: int, payload: Mapping[str, Any] | str, headers: Mapping[str, str] = {}
    ) -> None:
        data = payload if isinstance(payload, str) else json.dumps(payload)
        kind = "text/html" if isinstance(payload, str) else "application/json"
        self._head(status, len(data.encode()), kind, headers)
        self.wfile.write(data.encode())

    def _head(
        self, status: int, length: int, kind: str = "application/json",
        headers: Mapping[str, str] = {},
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _send_half(self, payload: object) -> None:
        data = json.dumps(payload).encode()
        self._head(200, len(data))
        self.wfile.write(data[: len(data) // 2])
        self._hang_up()

    def _drip(self, payload: Any) -> None:
        """A space now and then, as a proxy does that keeps a connection open, then the answer."""
        data = json.dumps(payload).encode()
        drops = 50
        self._head(200, drops + len(data))
        try:
            for _ in range(drops):
                self.wfile.write(b" ")
                time.sleep(self.server.owner.slow_s / drops)
            self.server.owner._answered(200, payload["usage"])
            self.wfile.write(data)
        except OSError:  # the client gave up, as it should
            self.close_connection = True

    def _hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


_STATUS: dict[Fault | None, tuple[int, str, str]] = {
    Fault.RATE_LIMIT: (429, "Rate limit reached.", "rate_limit_exceeded"),
    Fault.QUOTA: (429, "You exceeded your current quota.", "insufficient_quota"),
    Fault.ERROR: (500, "The server had an error.", "server_error"),
    Fault.OVERLOAD: (503, "The engine is overloaded.", "overloaded"),
    Fault.AUTH: (401, "Incorrect API key provided:", "invalid_api_key"),
    Fault.REFUSE: (400, "This request is not acceptable:", "invalid_request"),
    Fault.TOO_LONG: (400, "The context is too long.", "context_length_exceeded"),
}


def _error(message: str, *, code: str = "", param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "error", "param": param, "code": code or None}}


def _completion(
    request: Request, content: str, fault: Fault | None, cached: float
) -> dict[str, Any]:
    text, refusal, finish = _spoiled(request, content, fault)
    tokens_in = prompt_tokens(request)
    return {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 1,
        "model": request.body.get("model", ""),
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": text, "refusal": refusal},
            }
        ],
        "usage": {
            "prompt_tokens": tokens_in,
            "completion_tokens": count_tokens(text or refusal or ""),
            "total_tokens": tokens_in + count_tokens(text or refusal or ""),
            "prompt_tokens_details": {"cached_tokens": int(cached * tokens_in)},
        },
    }


def prompt_tokens(request: Request) -> int:
    """Tokens of the messages, their frames, and the schema where one came along."""
    form = request.body.get("response_format") or {}
    schema = json.dumps(form["json_schema"]["schema"]) if "json_schema" in form else ""
    return (
        3
        + sum(4 + count_tokens(message["content"]) for message in request.messages)
        + count_tokens(schema)
    )


def _spoiled(
    request: Request, content: str, fault: Fault | None
) -> tuple[str | None, str | None, str]:
    """Content, refusal and finish reason of a reply with its fault."""
    form = request.body.get("response_format") or {}
    spoiled: dict[Fault | None, tuple[str | None, str | None, str]] = {
        Fault.TRUNCATED: (content[: len(content) // 2], None, "length"),
        Fault.WRONG_SCHEMA: ('{"unexpected": [1, 2, 3]}', None, "stop"),
        Fault.FENCED: (f"Here it is:\n```json\n{content}\n```\nAnything else?", None, "stop"),
        Fault.THINKING: (f"<think>\nIt says {{this}}.\n</think>\n{content}", None, "stop"),
        Fault.ECHOED_SCHEMA: (
            json.dumps(form.get("json_schema", {}).get("schema", {"type": "object"})), None, "stop"
        ),
        Fault.REFUSAL: (None, "I cannot help with that.", "stop"),
        Fault.EMPTY: ("", None, "stop"),
        Fault.NULL: (None, None, "stop"),
    }
    return spoiled.get(fault, (content, None, "stop"))


def _embeddings(request: Request, dimension: int) -> dict[str, Any]:
    given = request.body["input"]
    texts = [given] if isinstance(given, str) else list(given)
    tokens = sum(count_tokens(text) for text in texts)
    return {
        "object": "list",
        "model": request.body.get("model", ""),
        # Last first: a client must go by the index.
        "data": [
            {"object": "embedding", "index": n, "embedding": embedding(texts[n], dimension)}
            for n in reversed(range(len(texts)))
        ],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def embedding(text: str, dimension: int) -> list[float]:
    """A vector of unit length that depends on the words of a text."""
    vector = [0.0] * dimension
    for word in text.lower().split() or [""]:
        vector[sum(map(ord, word)) % dimension] += 1.0
    norm = sum(x * x for x in vector) ** 0.5
    return [x / norm for x in vector]
