"""One HTTP exchange through the ``openai`` package, without its retries."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from okh.llm.errors import AuthError
from okh.llm.settings import LlmSettings
from okh.llm.wire import retry_after

if TYPE_CHECKING:
    from openai import OpenAI


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. ``payload`` is None where the body is not JSON."""

    status: int
    payload: object
    retry_after: float | None


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Nothing whole came back. ``sent`` tells whether the endpoint may have had the request."""

    reason: str
    sent: bool


class Transport:
    """Sends requests to one endpoint; safe under threads.

    The package is imported at the first request: it takes a second, which nobody
    should wait for who only asks for an estimate.
    """

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._made: OpenAI | None = None

    def post(self, path: str, body: Mapping[str, object]) -> Answer | NoAnswer:
        """POST a JSON body. Raises ``AuthError`` where OpenAI would be called without a key."""
        return self._exchange("POST", path, body)

    def get(self, path: str) -> Answer | NoAnswer:
        """GET an address."""
        return self._exchange("GET", path, None)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._made is not None:
                self._made.close()
                self._made = None

    def _exchange(
        self, method: str, path: str, body: Mapping[str, object] | None
    ) -> Answer | NoAnswer:
        import httpx2
        import openai

        client = self._client()
        try:
            if method == "GET":
                response = client.get(path, cast_to=httpx2.Response, options=self._options())
            else:
                response = client.post(
                    path, cast_to=httpx2.Response, body=body, options=self._options()
                )
        except openai.APIStatusError as error:
            response = error.response
        except openai.APIConnectionError as error:  # among them timeouts
            late = isinstance(error, openai.APITimeoutError)
            if isinstance(error.__cause__, (httpx2.ConnectError, httpx2.ConnectTimeout)):
                return NoAnswer("could not be reached", sent=False)
            return NoAnswer("no answer in time" if late else "connection cut", sent=True)
        return Answer(response.status_code, _json(response.content), retry_after(response.headers))

    @property
    def _key(self) -> str:
        key = self._settings.api_key
        return key.get_secret_value() if key else "none"

    def _options(self) -> Any:
        """Options of each request: where the key goes in another header, that header."""
        if self._settings.key_header == "authorization":
            return {}
        import openai

        return {"headers": {"api-key": self._key, "Authorization": openai.Omit()}}

    def _client(self) -> OpenAI:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def _make(self) -> OpenAI:
        import httpx2
        import openai

        settings = self._settings
        if settings.api_key is None and settings.is_openai:
            raise AuthError(f"{settings.host} needs a key: set OPENAI_API_KEY")
        timeout = httpx2.Timeout(settings.timeout_s, connect=settings.connect_timeout_s)
        return openai.OpenAI(
            base_url=settings.base_url,
            # Never left out: the package would look the key of another endpoint up by itself.
            api_key=self._key,
            default_query=dict(settings.query),
            timeout=timeout,
            max_retries=0,
            http_client=openai.DefaultHttpxClient(
                event_hooks={"response": [_bound(settings.timeout_s)]}
            ),
        )


def _json(content: bytes) -> object:
    try:
        return json.loads(content)
    except ValueError:
        return None


def _bound(seconds: float) -> Any:
    """A hook that ends a body which does not end by itself.

    The library's own read timeout starts anew with every byte, so that a proxy which sends
    a space now and then holds a call for ever.
    """
    import httpx2

    class Bounded(httpx2.SyncByteStream):
        def __init__(self, stream: httpx2.SyncByteStream) -> None:
            self._stream = stream
            self._until = time.monotonic() + seconds

        def __iter__(self) -> Iterator[bytes]:
            for chunk in self._stream:
                if time.monotonic() > self._until:
                    raise httpx2.ReadTimeout("the answer did not end in time")
                yield chunk

        def close(self) -> None:
            self._stream.close()

    def hook(response: httpx2.Response) -> None:
        if isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = Bounded(response.stream)

    return hook
