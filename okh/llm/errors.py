"""What can go wrong with a language model's endpoint, each error with its mend.

No message holds a key, nor text of a document or a reply: what the server said is
read for the names of parameters and left out.
"""

from __future__ import annotations

from okh.domain import OkhError


class LlmError(OkhError):
    """Root of all errors of this package."""


class RunStopped(LlmError):
    """No further call of this run can succeed: end it, keep what there is."""


class CircuitOpen(RunStopped):
    """The endpoint failed again and again; it is left alone for a while."""


class BudgetExceeded(RunStopped):
    """The next call could pass the budget; it was not made."""


class PriceUnknown(RunStopped):
    """A budget was set, and the model has no price to hold it by."""


class AuthError(RunStopped):
    """The key is missing, wrong, or not allowed to do this."""


class QuotaExhausted(RunStopped):
    """The account has no credit left; waiting does not help."""


class NotServed(RunStopped):
    """The endpoint knows neither this address nor this model."""


class CallFailed(LlmError):
    """One call got no usable answer, however often it was made; others may.

    Attributes
    ----------
    attempts
        How often it was made.
    """

    def __init__(self, message: str, *, attempts: int) -> None:
        super().__init__(message)
        self.attempts = attempts


class RequestRefused(LlmError):
    """The endpoint will not answer this request (400, 413, 422 …), however often it is made.

    Attributes
    ----------
    status
        HTTP status.
    code
        The endpoint's own code, such as ``context_length_exceeded``; may be empty.
    parameter
        The request parameter that it objects to, where it says so.
    """

    def __init__(self, message: str, *, status: int, code: str = "", parameter: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.parameter = status, code, parameter
