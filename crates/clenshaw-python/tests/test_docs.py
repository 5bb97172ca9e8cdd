"""The documentation runs: Python blocks, doctests and the notebook."""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import io
import math
import os
import pkgutil
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clenshaw

PACKAGE = Path(__file__).resolve().parents[1]
REPOSITORY = PACKAGE.parents[1]
GUIDE = REPOSITORY / "docs" / "python" / "README.md"
NOTEBOOK = PACKAGE / "notebooks" / "quickstart.ipynb"
PAGES = [PACKAGE / "README.md", REPOSITORY / "README.md", *sorted(GUIDE.parent.glob("*.md"))]
#: Modules that a page needs; its test is skipped without them.
NEEDED = {
    "README.md": ("pandas", "scipy", "sklearn"),
    "coming-from-pyg.md": ("torch", "torch_geometric"),
    "coming-from-scikit-network.md": ("scipy", "sknetwork"),
}
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


def name_of(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


# Python blocks -----------------------------------------------------------------------------------


def python_blocks(page: Path) -> list[tuple[int, str]]:
    """The blocks of a page that are marked ``python``, with the numbers of their first lines."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^( *)```python\n(.*?)^ *```$", text, re.M | re.S)
    return [(text[: m.start(2)].count("\n"), textwrap.dedent(m.group(2))) for m in found]


def shown_output(lines: list[str], statement: ast.stmt) -> str:
    """The comment after an expression: at the end of its line, or on the lines below it."""
    end, column = statement.end_lineno or 0, statement.end_col_offset or 0
    rest = lines[end - 1].encode()[column:].decode().strip()
    below = []
    for line in lines[end:]:
        if not line.startswith("#"):
            break
        below.append(line.removeprefix("#").removeprefix(" "))
    return rest.removeprefix("#").strip() if rest.startswith("#") else "\n".join(below)


def run_statement(statement: ast.stmt, file: str, namespace: dict[str, Any]) -> str:
    """Run a statement as a notebook does, and return what it shows."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if not isinstance(statement, ast.Expr):
            module = ast.Module([statement], [])
            exec(compile(module, file, "exec", dont_inherit=True), namespace)
            return ""
        code = compile(ast.Expression(statement.value), file, "eval", dont_inherit=True)
        value = eval(code, namespace)
    value = value.item() if isinstance(value, np.generic) else value  # 0.5, not np.float64(0.5)
    return printed.getvalue() or ("" if value is None else repr(value))


def agrees(shown: str, found: str) -> bool:
    """Whether the shown output is the found one.

    ``...`` stands for any text, and spaces do not matter. Numbers with decimals agree if they differ by
    at most one unit of their last digit.
    """
    shown, found = " ".join(shown.split()), " ".join(found.split())
    text = re.escape(NUMBER.sub("\0", shown)).replace(re.escape("..."), ".*?").replace(re.escape("\0"), "\0")
    pattern = text.replace("\0", f"({NUMBER.pattern})")
    match = re.fullmatch(pattern, found)
    if match is None:
        return False
    return all(same_number(a, b) for a, b in zip(NUMBER.findall(shown), match.groups()))


def same_number(shown: str, found: str) -> bool:
    if "." not in shown:
        return shown == found
    digits = len(shown.partition("e")[0].partition(".")[2])
    return math.isclose(float(shown), float(found), rel_tol=1e-9, abs_tol=1.01 * 10.0**-digits)


@pytest.mark.parametrize(
    ("shown", "found", "expected"),
    [
        ("0.93", "0.9312", True),
        ("0.93", "0.95", False),
        ("[1, 2]", "[1, 2]", True),
        ("[1, 2]", "[1, 3]", False),
        ("a  b", "a b", True),
        ("array([...])", "array([1, 2, 3])", True),
        ("accuracy 97.35 ± 0.63 over 2 runs", "accuracy 97.345 ± 0.62 over 2 runs", True),
        ("accuracy 97.35 ± 0.63 over 2 runs", "accuracy 97.345 ± 0.62 over 3 runs", False),
    ],
)
def test_comparison_of_shown_outputs(shown: str, found: str, expected: bool) -> None:
    assert agrees(shown, found) is expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = python_blocks(page)
    if not blocks:
        pytest.skip("no Python blocks")
    for module in NEEDED.get(page.name, ()):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    problems = []
    for first, block in blocks:
        lines = block.split("\n")
        tree = ast.parse(block, filename=page.name)
        for statement in tree.body:
            where = f"{page.name}:{first + statement.lineno}"
            try:
                found = run_statement(statement, where, namespace)
            except Exception as error:
                raise AssertionError(f"{where}: {ast.unparse(statement)}") from error
            shown = shown_output(lines, statement) if isinstance(statement, ast.Expr) else ""
            if shown and not agrees(shown, found):
                problems.append(f"{where}: shows\n{shown}\nbut the output is\n{found}")
    assert not problems, "\n\n".join(problems)


def test_every_public_name_is_in_the_guide() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    missing = [name for name in clenshaw.__all__ if not re.search(rf"\b{name}\b", text)]
    assert not missing


def test_every_page_is_linked() -> None:
    index = (REPOSITORY / "docs" / "README.md").read_text(encoding="utf-8")
    missing = [page.name for page in GUIDE.parent.glob("*.md") if f"python/{page.name}" not in index]
    assert not missing


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent != REPOSITORY], ids=name_of)
def test_links_of_a_page_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]
    assert not [target for target in local if not (page.parent / target).exists()]


# Doctests ----------------------------------------------------------------------------------------


def module_names() -> list[str]:
    found = pkgutil.walk_packages(clenshaw.__path__, "clenshaw.")
    return ["clenshaw", *(module.name for module in found if not module.name.endswith("._clenshaw"))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", module_names())
def test_doctests(name: str) -> None:
    if "torch" in name:
        pytest.importorskip("torch")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(importlib.import_module(name), optionflags=flags).failed == 0


# The notebook ------------------------------------------------------------------------------------


def test_the_notebook_runs(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    client = nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources)
    path = os.pathsep.join([str(Path(clenshaw.__file__).parents[1]), *sys.path])
    client.execute(env={**os.environ, "PYTHONPATH": path})


def test_the_notebook_is_small_and_has_its_outputs() -> None:
    nbformat = pytest.importorskip("nbformat")
    assert NOTEBOOK.stat().st_size < 200_000
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert any("<svg" in str(output) for cell in code for output in cell.outputs)
