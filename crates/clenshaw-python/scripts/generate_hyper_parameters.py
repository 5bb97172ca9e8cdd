"""Write ``python/clenshaw/_hyper_parameters.py`` from the registry of models.

Run after adding a model or a hyper-parameter: ``python scripts/generate_hyper_parameters.py``.
A test fails if the file is out of date.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from clenshaw import _clenshaw
from clenshaw._estimator_names import KEYWORDS

FILE = Path(__file__).parents[1] / "python" / "clenshaw" / "_hyper_parameters.py"

HEADER = '''"""The parameters of ``NodeClassifier``; written by ``scripts/generate_hyper_parameters.py``."""

from __future__ import annotations

from typing import Any


class HyperParameters:
    """A classifier of the nodes of a graph that follows the conventions of scikit-learn.

    ``fit`` trains on the labelled nodes, and ``predict`` returns the labels of all nodes of the same or of
    another graph. Results depend on ``random_state``, but not on the number of threads.

    A hyper-parameter belongs to the models that its default lists, or else to all models; those left at
    ``None`` take the default of the model. If the meaning differs between models, slashes separate the meanings.

    Parameters
    ----------
    model : str, default "clenshaw-gcn"
        One of {models}.
'''

OWN = """    validation_fraction : float, default 0.2
        The share of the labelled nodes of each class that is used for early stopping if ``fit`` receives no
        ``val_mask``. With 0, training runs for ``max_epochs`` epochs.
    random_state : int, numpy Generator or RandomState, optional
        The seed of the validation nodes, initial weights and dropout; ``None`` is 0, so results are reproducible.
    n_jobs : int, optional
        The number of threads; ``None`` and -1 use all processors.
    verbose : int, default 0
        1 shows the progress of training; a progress bar needs the package tqdm.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    labels_, probs_ : ndarray
        The predicted label, and the probability of every class, of every node of the training graph.
    history_ : dict of ndarray
        Epoch, training loss, validation loss and validation accuracy of every epoch.
    best_epoch_, n_iter_ : int
        The epoch whose weights were kept, and the number of epochs.
    validation_accuracy_ : float
        The accuracy of the best epoch on the validation nodes. The epoch was chosen on these nodes, so expect
        less on new nodes.
    filter_ : LearnedFilter or None
        The learned filter of a spectral model.
    train_mask_, val_mask_ : ndarray of bool
        The nodes used for training and for early stopping.
    n_features_in_, feature_names_in_
        The number of columns of ``X`` and, if ``X`` is a table, their names.
    nodes_ : list or None
        The names of the nodes in order, if they have names.
    notes_ : list of str
        Changes made to the graph, such as removed self-loops and merged edges.

    Examples
    --------
    >>> import clenshaw
    >>> edges = [[0, 1, 2, 3, 4, 0], [1, 2, 0, 4, 5, 3]]
    >>> X = [[0.1], [0.2], [0.1], [0.9], [0.8], [0.7]]
    >>> model = clenshaw.NodeClassifier("gcn", max_epochs=50, random_state=0)
    >>> model.fit(edges, X, ["a", "a", None, "b", "b", None]).predict().shape
    (6,)
    \"\"\"
"""

TYPES = {"int": "int", "float": "float", "bool": "bool", "str": "str"}


def collect() -> dict[str, tuple[str, list[tuple[str, object]], list[str], list[str]]]:
    """Return type, models with defaults, meanings and choices of every hyper-parameter."""
    found: dict[str, tuple[str, list[tuple[str, object]], list[str], list[str]]] = {}
    for model in _clenshaw.model_names():
        for hyper in _clenshaw.model_info(model)["hyper"]:
            kind, models, meanings, choices = found.setdefault(hyper["name"], (hyper["type"], [], [], []))
            if hyper["type"] != kind:
                raise SystemExit(f"{hyper['name']} is {kind} and {hyper['type']}")
            # Features from memory are standardised unless the user states otherwise.
            models.append((model, "standard" if hyper["name"] == "scaling" else hyper["default"]))
            if hyper["meaning"] not in meanings:
                meanings.append(hyper["meaning"])
            choices += [choice for choice in hyper.get("choices", []) if choice not in choices]
    return found


def describe(models: list[tuple[str, object]], meanings: list[str]) -> str:
    """Return the documentation of one hyper-parameter."""
    meaning = " / ".join(meanings)
    # A list of choices starts with the name of one, which stays as it is.
    if ":" not in meaning.split(" ")[0]:
        meaning = meaning[0].upper() + meaning[1:]
    defaults: dict[str, list[str]] = {}
    for model, default in models:
        defaults.setdefault(repr(default) if isinstance(default, str) else f"{default}", []).append(model)
    everywhere = len(models) == len(_clenshaw.model_names())
    parts = [
        f"{value} in {', '.join(names)}" if not (everywhere and len(defaults) == 1) else value
        for value, names in defaults.items()
    ]
    return f"{meaning}. Default: {'; '.join(parts)}."


def document(name: str, kind: str, text: str) -> str:
    body = textwrap.fill(text, 106, initial_indent=" " * 8, subsequent_indent=" " * 8, break_on_hyphens=False)
    return f"    {name} : {kind}, optional\n{body}\n"


def generate() -> str:
    """Return the text of the file."""
    hypers = collect()
    models = ", ".join(f"``{name}``" for name in _clenshaw.model_names())
    wrapped = textwrap.fill(f"One of {models}.", 106, initial_indent=" " * 8, subsequent_indent=" " * 8,
                            break_on_hyphens=False)
    text = HEADER.replace("        One of {models}.", wrapped)
    for name, (kind, uses, meanings, choices) in hypers.items():
        shown = "{" + ", ".join(f'"{choice}"' for choice in choices) + "}" if choices else TYPES[kind]
        text += document(KEYWORDS.get(name, name), shown, describe(uses, meanings))
    text += OWN.replace('\\"', '"')
    names = [(KEYWORDS.get(name, name), TYPES[kind]) for name, (kind, *_) in hypers.items()]
    text += "\n    def __init__(\n        self,\n        model: str = \"clenshaw-gcn\",\n        *,\n"
    text += "".join(f"        {name}: {kind} | None = None,\n" for name, kind in names)
    text += "        validation_fraction: float = 0.2,\n        random_state: Any = None,\n"
    text += "        n_jobs: int | None = None,\n        verbose: int = 0,\n    ) -> None:\n        self.model = model\n"
    own = ["validation_fraction", "random_state", "n_jobs", "verbose"]
    return text + "".join(f"        self.{name} = {name}\n" for name in [name for name, _ in names] + own)


if __name__ == "__main__":
    FILE.write_text(generate(), encoding="utf-8")
    print(f"wrote {FILE.name}")
