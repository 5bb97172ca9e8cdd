"""Progress of training on stderr."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from clenshaw import _clenshaw


class Progress:
    """Shows the epochs of a run: with tqdm if it is installed, otherwise as one line every two seconds."""

    def __init__(
        self, verbose: int, model: str, params: dict[str, Any], callback: Callable[..., Any] | None
    ) -> None:
        self._user_callback = callback
        self._bar: Any = None
        self._printed = time.monotonic()
        self._verbose = bool(verbose)
        if not self._verbose:
            return
        declared = {hyper["name"]: hyper["default"] for hyper in _clenshaw.model_info(model)["hyper"]}
        self._max_epochs = params.get("max_epochs", declared["max_epochs"])
        if importlib.util.find_spec("tqdm") is not None:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=self._max_epochs, desc=model, unit="epoch")

    @property
    def callback(self) -> Callable[..., Any] | None:
        """The function to call after every epoch; ``None`` if there is nothing to do."""
        return self._after_epoch if self._verbose else self._user_callback

    def _after_epoch(self, epoch: int, train_loss: float, val_loss: float, val_accuracy: float) -> Any:
        if self._bar is not None:
            self._bar.set_postfix_str(f"train loss {train_loss:.3f}, val acc {100 * val_accuracy:.1f}%", refresh=False)
            self._bar.update()
        elif time.monotonic() - self._printed > 2:
            self._printed = time.monotonic()
            print(
                f"epoch {epoch} of at most {self._max_epochs}: train loss {train_loss:.3f}, "
                f"val acc {100 * val_accuracy:.1f}%",
                file=sys.stderr,
            )
        if self._user_callback is not None:
            return self._user_callback(epoch, train_loss, val_loss, val_accuracy)
        return False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
