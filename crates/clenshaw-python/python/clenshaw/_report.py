"""Pages about fitted models."""

from __future__ import annotations

import os
from html import escape

HEIGHT = 900


class ReportPage:
    """A page about a fitted model, returned by ``NodeClassifier.report``.

    A notebook shows the page in a frame; ``save`` writes it as one file that opens offline in any browser.

    Attributes
    ----------
    html : str
        The source of the page.
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file."""
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(self.html)

    def __repr__(self) -> str:
        return f"<ReportPage of {len(self.html) // 1000} KB; write it to a file with save(path)>"

    def _repr_html_(self) -> str:
        # Without `allow-same-origin`, the scripts of the page cannot reach the notebook.
        return (
            f'<iframe srcdoc="{escape(self.html, quote=True)}" sandbox="allow-scripts" title="Report page" '
            f'style="width: 100%; height: {HEIGHT}px; border: 1px solid #ccc"></iframe>'
        )
