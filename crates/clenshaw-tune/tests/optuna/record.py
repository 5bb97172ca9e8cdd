"""Stores what Optuna computes as fixtures of the tests.

    python record.py ../fixtures        # optuna 5.0.0, numpy; about ten minutes

Every fixture is a JSON file with studies and the numbers that Optuna computes from them. All random
numbers are seeded.
"""

import itertools
import json
import math
import sys
from pathlib import Path

import numpy as np
import optuna
from optuna.distributions import (
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
)
from optuna.samplers import TPESampler
from optuna.samplers._tpe import _truncnorm
from optuna.samplers._tpe.sampler import _split_trials, default_gamma
from optuna.study import StudyDirection
from optuna.trial import TrialState, create_trial

# The order of equal values in numpy depends on the processor, and bandwidths depend on that order.
_argsort = np.argsort
np.argsort = lambda a, *args, **kwargs: _argsort(a, *args, **{"kind": "stable", **kwargs})

SPACE = {
    "decay": FloatDistribution(1e-6, 1e-1, log=True),
    "drop": FloatDistribution(0.0, 0.9, step=0.1),
    "lambda": FloatDistribution(-2.0, 3.0),
    "order": IntDistribution(2, 30, step=4),
    "width": IntDistribution(1, 128, log=True),
    "words": CategoricalDistribution(["gcn", "clenshaw", "horner", "none"]),
}


def json_number(x):
    """Converts NaN and infinities to strings, for JSON."""
    return x if math.isfinite(x) else str(float(x))


def study_json(study):
    """Converts a study to JSON; each distribution is stored once."""
    names, distributions = {}, {}
    trials = []
    for trial in study.get_trials(deepcopy=False):
        params = {}
        for name, distribution in trial.distributions.items():
            text = distribution_to_json(distribution)
            key = names.setdefault(text, f"{name}{len(names)}")
            distributions[key] = json.loads(text)
            params[name] = [key, distribution.to_internal_repr(trial.params[name])]
        attrs = {k: v for k, v in trial.system_attrs.items() if k.startswith("completed_rung")}
        trials.append({
            "state": trial.state.value,
            "value": trial.value if trial.state == TrialState.COMPLETE else None,
            "params": params,
            "reports": {str(s): json_number(v) for s, v in trial.intermediate_values.items()},
            "attrs": attrs,
        })
    return {
        "direction": study.direction.value,
        "distributions": distributions,
        "trials": trials,
    }


def draw_params(rng, space):
    """Draws a value for every parameter."""
    values = {}
    for name, d in space.items():
        if isinstance(d, CategoricalDistribution):
            values[name] = d.choices[rng.integers(len(d.choices))]
        elif d.log:
            x = math.exp(rng.uniform(math.log(d.low), math.log(d.high)))
            values[name] = int(round(x)) if isinstance(d, IntDistribution) else x
        elif d.step:
            k = int(rng.integers(round((d.high - d.low) / d.step) + 1))
            values[name] = min(d.low + k * d.step, d.high)
        else:
            values[name] = rng.uniform(d.low, d.high)
    return values


def history(seed, n_trials, direction, states):
    """Creates a study whose trials have these states, cyclically; `bare` is pruned without reports."""
    rng = np.random.default_rng(seed)
    study = optuna.create_study(direction=direction)
    for _, state in zip(range(n_trials), itertools.cycle(states)):
        params = draw_params(rng, SPACE)
        distributions = dict(SPACE)
        if rng.random() < 0.1:  # A trial without this parameter.
            del params["width"], distributions["width"]
        steps = int(rng.integers(1, 5))
        reports = {s: round(float(rng.normal()), 2) for s in range(steps)}
        if state == "bare":
            reports, state = {}, "pruned"
        study.add_trial(create_trial(
            state=TrialState[state.upper()],
            value=round(float(rng.normal()), 1) if state == "complete" else None,
            params=params,
            distributions=distributions,
            intermediate_values=reports,
        ))
    return study


def estimator(mixture, space):
    """Returns weights, centres and bandwidths of a Parzen estimator."""
    columns = {}
    for name, d in zip(space, mixture.distributions):
        if hasattr(d, "mu"):
            columns[name] = {"mus": d.mu.tolist(), "sigmas": d.sigma.tolist()}
        else:
            columns[name] = {"weights": d.weights.tolist()}
    return {"weights": mixture.weights.tolist(), "columns": columns}


def view(study, sampler, space, rng):
    """Returns what the sampler computes from the study for the parameters of `space`."""
    states = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.RUNNING)
    trials = study.get_trials(deepcopy=False, states=states)
    n = sum(t.state != TrialState.RUNNING for t in trials)
    below, above = _split_trials(study, trials, default_gamma(n))
    l = sampler._build_parzen_estimator(study, space, below, handle_below=True)
    g = sampler._build_parzen_estimator(study, space, above, handle_below=False)
    points = [draw_params(rng, space) for _ in range(12)]
    internal = {k: np.array([space[k].to_internal_repr(p[k]) for p in points]) for k in space}
    acquisition = sampler._compute_acquisition_func(internal, l, g)
    return {
        "below": [t.number for t in below],
        "above": [t.number for t in above],
        "l": estimator(l._mixture_distribution, space),
        "g": estimator(g._mixture_distribution, space),
        "points": {k: v.tolist() for k, v in internal.items()},
        "log_l": l.log_pdf(internal).tolist(),
        "log_g": g.log_pdf(internal).tolist(),
        "acquisition": acquisition.tolist(),
    }


def record_tpe():
    """Stores studies with all kinds of parameters and states, and Optuna's estimators."""
    everything = ["complete", "pruned", "complete", "running", "fail", "complete", "bare"]
    histories = {
        "mixed": history(1, 40, "minimize", everything),
        "maximised": history(2, 33, "maximize", ["complete", "complete", "pruned"]),
        "pruned": history(3, 24, "minimize", ["pruned", "pruned", "bare", "running"]),
        "first": history(4, 2, "minimize", ["complete", "running"]),
    }
    recorded = {}
    for name, study in histories.items():
        rng = np.random.default_rng(9)
        sampler = TPESampler(multivariate=True)
        alone = {p: view(study, sampler, {p: d}, rng) for p, d in SPACE.items()}
        together = view(study, sampler, SPACE, rng)
        del together["l"]["columns"], together["g"]["columns"]  # The same as in `alone`.
        recorded[name] = {"study": study_json(study), "alone": alone, "together": together}
    q, a, b = [], [], []
    for low, high in [(-3, 1), (-0.1, 0.1), (2, 40), (-50, -20), (-1e3, 1e3), (0.5, 0.7)]:
        for share in [1e-9, 0.01, 0.3, 0.5, 0.9, 0.9999]:
            q.append(share), a.append(low), b.append(high)
    values = _truncnorm.ppf(np.array(q), np.array(a, float), np.array(b, float))
    recorded["quantiles"] = {"q": q, "a": a, "b": b, "x": values.tolist()}
    return recorded


def sphere(trial):
    x, y = trial.suggest_float("x", -5, 5), trial.suggest_float("y", -5, 5)
    return (x - 1) ** 2 + (y + 2) ** 2


def branin(trial):
    x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
    bent = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return bent**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def rosenbrock(trial):
    x = trial.suggest_float("x", 1e-2, 1e2, log=True)
    y = trial.suggest_float("y", 1e-2, 1e2, log=True)
    return math.log1p((1 - x) ** 2 + 100 * (y - x**2) ** 2)


def mixed(trial):
    order = trial.suggest_int("order", 2, 30, step=4)
    width = trial.suggest_int("width", 1, 256, log=True)
    drop = trial.suggest_float("drop", 0.0, 0.9, step=0.1)
    word = trial.suggest_categorical("word", ["a", "b", "c", "d"])
    costs = {"a": 1.0, "b": 0.0, "c": 2.0, "d": 0.5}
    return (order - 14) ** 2 / 64 + math.log2(width / 48) ** 2 + 10 * (drop - 0.3) ** 2 + costs[word]


def record_functions():
    """Stores the best value after 60 trials: quartiles over 100 seeds, by function and sampler."""
    recorded = {}
    for function in (sphere, branin, rosenbrock, mixed):
        rows = {}
        for name, sampler in (
            ("random", lambda seed: optuna.samplers.RandomSampler(seed=seed)),
            ("alone", lambda seed: TPESampler(seed=seed, multivariate=False)),
            ("together", lambda seed: TPESampler(seed=seed, multivariate=True)),
        ):
            best = []
            for seed in range(100):
                study = optuna.create_study(sampler=sampler(seed))
                study.optimize(function, n_trials=60)
                best.append(study.best_value)
            rows[name] = np.percentile(best, [25, 50, 75]).tolist()
        recorded[function.__name__] = rows
    return recorded


def pruner_study(seed, direction, name, gaps):
    """Creates a study, and learning curves to be reported step by step; with `gaps`, steps are missing."""
    rng = np.random.default_rng(seed)
    curves = []
    for _ in range(30):
        last = int(rng.integers(9, 30))
        end, start = rng.normal(), rng.normal() + 3
        steps = [s for s in range(last) if not gaps or rng.random() < 0.6] or [0]
        curve = [(s, round(end + (start - end) * math.exp(-s / 4) + 0.2 * rng.normal(), 2)) for s in steps]
        if rng.random() < 0.1:
            curve[len(curve) // 2] = (curve[len(curve) // 2][0], math.nan)
        curves.append(curve)
    return optuna.create_study(study_name=name, direction=direction), curves


def decisions(pruner, seed, direction, gaps=False):
    """Runs the curves as trials, two at a time.

    Events in order: [trial, step, value, whether it is pruned, changed system attributes], or
    [trial, value] when the trial is complete.
    """
    study, curves = pruner_study(seed, direction, f"study {seed}", gaps)
    study.pruner = pruner()
    events, running = [], []
    queue = list(enumerate(curves))
    while queue or running:
        while queue and len(running) < 2:
            number, curve = queue.pop(0)
            running.append((study.ask(), iter(curve)))
        trial, curve = running.pop(0)
        report = next(curve, None)
        if report is None:
            values = [v for v in trial._get_latest_trial().intermediate_values.values()]
            last = values[-1] if not math.isnan(values[-1]) else 0.0
            study.tell(trial, last)
            events.append([trial.number, last])
            continue
        step, value = report
        trial.report(value, step)
        before = dict(trial._get_latest_trial().system_attrs)
        study.pruner = pruner()  # A new one, because a pruner caches its estimates.
        prune = bool(trial.should_prune())
        after = trial._get_latest_trial().system_attrs
        notes = {k: v for k, v in after.items() if before.get(k) != v}
        events.append([trial.number, step, json_number(value), prune, notes])
        if prune:
            study.tell(trial, state=TrialState.PRUNED)
        else:
            running.append((trial, curve))
    return {"direction": study.direction.value, "name": study.study_name, "events": events}


def record_pruners():
    """Stores every decision of every pruner on noisy curves."""
    p = optuna.pruners
    runs = {
        "median authors": (lambda: p.MedianPruner(5, 3, 1, n_min_trials=5), 1, "minimize", False),
        "median gaps": (lambda: p.MedianPruner(2, 4, 3, n_min_trials=1), 2, "maximize", True),
        "halving auto": (lambda: p.SuccessiveHalvingPruner(), 3, "minimize", False),
        "halving rungs": (
            lambda: p.SuccessiveHalvingPruner(
                min_resource=2, reduction_factor=2, min_early_stopping_rate=1, bootstrap_count=2
            ),
            4, "maximize", True,
        ),
        "hyperband": (lambda: p.HyperbandPruner(min_resource=1, max_resource=27), 5, "minimize", False),
        "hyperband auto": (lambda: p.HyperbandPruner(), 6, "maximize", False),
    }
    return {name: decisions(*run) for name, run in runs.items()}


def record_importance():
    """Stores the importances of three studies."""
    recorded = {}
    for name, seed, n, direction, states in (
        ("mixed", 11, 60, "minimize", ["complete"]),
        ("maximised", 12, 45, "maximize", ["complete", "pruned", "complete"]),
        ("few", 13, 6, "minimize", ["complete"]),
    ):
        study = history(seed, n, direction, states)
        shares = optuna.importance.get_param_importances(study)
        recorded[name] = {"study": study_json(study), "shares": shares}
    return recorded


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    folder = Path(sys.argv[1])
    for name, record in {
        "tpe": record_tpe,
        "functions": record_functions,
        "pruners": record_pruners,
        "importance": record_importance,
    }.items():
        if len(sys.argv) == 2 or name in sys.argv[2:]:
            text = json.dumps({"optuna": optuna.__version__, **record()}, separators=(",", ":"))
            (folder / f"{name}.json").write_text(text + "\n")
