"""Type hints: the package, its stubs of the native module, and the generated parameters."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import clenshaw
from clenshaw import _clenshaw

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "clenshaw"

EXAMPLE = '''
from typing import Any, reveal_type

import clenshaw
import numpy as np

model = clenshaw.NodeClassifier("gcn", hidden=8, random_state=0)
reveal_type(model.fit([[0], [1]], None, [0, 1]))
reveal_type(model.predict())
reveal_type(model.state_dict())
reveal_type(clenshaw.compare("cora").scores)
reveal_type(clenshaw.spectrum([[0], [1]]).exact)
clenshaw.NodeClassifier(hidden="8")
clenshaw.NodeClassifier(nothing=8)
'''


def run(*arguments: str, cwd: Path = ROOT, check: bool = True) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=cwd, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(Path(clenshaw.__file__).parents[1])},
    )
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done.stdout + done.stderr


def need(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")


def test_mypy_accepts_the_package(tmp_path: Path) -> None:
    need("mypy")
    run("mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path), str(PACKAGE))


def test_pyright_accepts_the_package() -> None:
    need("pyright")
    output = run("pyright", "--pythonpath", sys.executable, str(PACKAGE), check=False)
    found = re.search(r"^(\d+) errors?, ", output, re.M)
    if found is None:
        pytest.skip("pyright needs Node.js, which it could not install")
    assert found[1] == "0", output


def test_stubs_agree_with_the_native_module(tmp_path: Path) -> None:
    need("mypy")
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nfollow_imports = skip\n")  # the stubs are checked, not what the package imports
    output = run("mypy.stubtest", "clenshaw._clenshaw", "--mypy-config-file", str(config), cwd=tmp_path)
    assert "Success" in output


def test_types_that_users_see(tmp_path: Path) -> None:
    need("mypy")
    (tmp_path / "example.py").write_text(EXAMPLE)
    config = str(ROOT / "pyproject.toml")
    output = run("mypy", "--strict", "--config-file", config, "--cache-dir", str(tmp_path / "cache"), "example.py",
                 cwd=tmp_path, check=False)
    assert 'Revealed type is "clenshaw._estimator.NodeClassifier"' in output
    assert output.count("dict[str, numpy.ndarray") == 2
    assert output.count('Revealed type is "bool"') == 1
    assert 'Argument "hidden" to "NodeClassifier" has incompatible type "str"' in output
    assert 'Unexpected keyword argument "nothing" for "NodeClassifier"' in output
    assert "Found 2 errors" in output, output


def test_the_package_is_marked_as_typed() -> None:
    assert (Path(clenshaw.__file__).parent / "py.typed").exists()
    assert (Path(clenshaw.__file__).parent / "_clenshaw.pyi").exists()


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generator", ROOT / "scripts" / "generate_hyper_parameters.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_parameters_are_up_to_date() -> None:
    module = generator()
    expected = module.generate()
    assert module.FILE.read_text(encoding="utf-8") == expected, "run scripts/generate_hyper_parameters.py"


def test_every_hyper_parameter_is_a_parameter() -> None:
    params = set(clenshaw.NodeClassifier().get_params())
    for model in _clenshaw.model_names():
        for hyper in _clenshaw.model_info(model)["hyper"]:
            assert {"lambda": "lambda_"}.get(hyper["name"], hyper["name"]) in params


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.name)
def test_the_package_runs_on_the_oldest_python(path: Path) -> None:
    """The syntax of 3.10."""
    import ast

    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))
