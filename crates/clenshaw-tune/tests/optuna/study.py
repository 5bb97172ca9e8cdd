"""Runs Optuna: `study.py COMMAND LOCATION [...]`; prints JSON.

A location is the path of a journal or the URL of a database.
"""

import json
import sys

import optuna
from optuna.storages.journal import JournalFileBackend

optuna.logging.set_verbosity(optuna.logging.ERROR)


def storage(location):
    """Opens the storage at a location."""
    if "://" in location:
        return optuna.storages.RDBStorage(location, heartbeat_interval=60)
    return optuna.storages.JournalStorage(JournalFileBackend(location))


def suggest(trial):
    """Samples the parameters of a trial and returns its objective."""
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    drop = trial.suggest_float("drop", 0.0, 0.9, step=0.1)
    order = trial.suggest_int("order", 2, 10, step=2)
    kind = trial.suggest_categorical("kind", [None, True, 3, 0.5, "word"])
    return rate + drop + order + (kind == "word")


def trial_json(trial):
    """Converts a trial to JSON; times are seconds since 1970."""
    return {
        "number": trial.number,
        "id": trial._trial_id,
        "state": trial.state.name,
        "value": trial.value,
        "params": trial.params,
        "distributions": {
            name: json.loads(optuna.distributions.distribution_to_json(distribution))
            for name, distribution in trial.distributions.items()
        },
        "reports": {str(step): value for step, value in trial.intermediate_values.items()},
        "user_attrs": trial.user_attrs,
        "system_attrs": trial.system_attrs,
        "started": trial.datetime_start and trial.datetime_start.timestamp(),
        "finished": trial.datetime_complete and trial.datetime_complete.timestamp(),
    }


def show(location, name):
    """Returns everything that Optuna reads from a study."""
    study = optuna.load_study(study_name=name, storage=storage(location))
    return {
        "version": optuna.__version__,
        "directions": [direction.name for direction in study.directions],
        "user_attrs": study.user_attrs,
        "system_attrs": study._storage.get_study_system_attrs(study._study_id),
        "metric_names": study.metric_names,
        "best": study.best_trial.number,
        "trials": [trial_json(trial) for trial in study.trials],
    }


def run(location, name, n):
    """Runs `n` trials with Optuna's sampler; the study is created if it does not exist."""
    study = optuna.create_study(
        study_name=name,
        storage=storage(location),
        direction="maximize",
        load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=1, n_startup_trials=2),
    )
    for _ in range(int(n)):
        trial = study.ask()
        value = suggest(trial)
        trial.set_user_attr("by", optuna.__version__)
        for step in range(3):
            trial.report(value - 2 + step, step)
        study.tell(trial, value)
    return {"trials": len(study.trials)}


def oddities(location, name):
    """Creates a study with contents that clenshaw-tune does not write."""
    study = optuna.create_study(study_name=name, storage=storage(location), direction="maximize")
    study.set_user_attr("who", "Optuna")
    study.set_metric_names(["accuracy"])
    study.enqueue_trial({"rate": 0.5, "kind": "word"})
    trial = study.ask({"x": optuna.distributions.CategoricalDistribution([float("nan"), "NaN"])})
    trial.report(float("nan"), 0)
    trial.report(float("inf"), 1)
    study.tell(trial, state=optuna.trial.TrialState.PRUNED)
    failed = study.ask()
    failed.set_user_attr("odd", [float("-inf"), {"NaN": None}])
    study.tell(failed, float("nan"), skip_if_finished=True)
    study.enqueue_trial({"rate": 0.25})
    optuna.create_study(study_name="two", storage=storage(location), directions=["minimize", "maximize"])
    return {"trials": len(study.trials)}


def stale(location, name):
    """Returns the ids of the trials that Optuna considers stale."""
    study = optuna.load_study(study_name=name, storage=storage(location))
    rdb = study._storage._backend
    return rdb._get_stale_trial_ids(study._study_id)


def heartbeat(location, name):
    """Starts a trial, records a heartbeat and returns the id of the trial."""
    study = optuna.load_study(study_name=name, storage=storage(location))
    trial = study.ask()
    study._storage._backend.record_heartbeat(trial._trial_id)
    return trial._trial_id


def create(location):
    """Creates the tables and returns their version."""
    return storage(location).get_current_version()


COMMANDS = {
    "show": show,
    "run": run,
    "oddities": oddities,
    "stale": stale,
    "heartbeat": heartbeat,
    "create": create,
}

if __name__ == "__main__":
    print(json.dumps(COMMANDS[sys.argv[1]](*sys.argv[2:])))
