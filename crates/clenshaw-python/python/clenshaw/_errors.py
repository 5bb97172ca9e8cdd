"""Exceptions, warnings and messages that several modules use."""

from __future__ import annotations

import sys
import warnings
from typing import Any


class NotFittedError(ValueError, AttributeError):
    """Raised when an estimator is used before it has been fitted.

    If scikit-learn is imported, the exception raised is also an instance of its ``NotFittedError``.
    """


def not_fitted(estimator: Any) -> NotFittedError:
    """Return the exception to raise for an estimator that was not fitted."""
    name = type(estimator).__name__
    text = f"this {name} is not fitted yet; call `fit` first"
    sklearn = sys.modules.get("sklearn.exceptions")
    if sklearn is None:
        return NotFittedError(text)
    both = type("NotFittedError", (NotFittedError, sklearn.NotFittedError), {})
    return both(text)  # type: ignore[no-any-return]


def warn_of_conversion(text: str) -> None:
    """Issue scikit-learn's ``DataConversionWarning`` or, if it is not imported, a ``UserWarning``."""
    sklearn = sys.modules.get("sklearn.exceptions")
    warn(text, UserWarning if sklearn is None else sklearn.DataConversionWarning)


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the first frame outside this package."""
    level = 1
    frame = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("clenshaw"):
        level += 1
        frame = frame.f_back  # type: ignore[assignment]
    warnings.warn(text, category, stacklevel=level)


def describe(value: Any) -> str:
    """Describe an object in an error message: its type and, if it has one, its shape."""
    kind = type(value)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    shape = getattr(value, "shape", None)
    suffix = f" of shape {tuple(shape)}" if isinstance(shape, tuple) else ""
    return f"{module}{kind.__name__}{suffix}"
