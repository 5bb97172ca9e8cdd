"""Threads, fork, spawn, Ctrl-C and memory."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Problem

import clenshaw
from clenshaw import NodeClassifier

#: Seconds after which a process that should have ended is considered to hang.
LIMIT = 60


def test_fits_in_threads_equal_fits_one_after_the_other(problem: Problem) -> None:
    tasks = [("gcn", 0), ("clenshaw-gcn", 1), ("gcnii", 2), ("opt-basis-gnn", 3)] * 2

    def run(task: tuple[str, int]) -> np.ndarray:
        return problem.fit(task[0], random_state=task[1], n_jobs=2).decision_function()

    expected = [run(task) for task in tasks]
    with ThreadPoolExecutor(4) as pool:
        for actual, scores in zip(pool.map(run, tasks), expected, strict=True):
            assert np.array_equal(actual, scores)


def test_one_estimator_predicts_in_several_threads(problem: Problem) -> None:
    model = problem.fit("clenshaw-gcn")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: model.predict_proba(problem.edge_index, problem.X), range(20)))
    assert all(np.array_equal(probabilities, model.predict_proba()) for probabilities in found)


def test_the_gil_is_released_while_training() -> None:
    data = clenshaw.make_csbm(n_nodes=2000, random_state=0)
    ticks, done = [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    try:
        start = time.monotonic()
        model = NodeClassifier("clenshaw-gcn", max_epochs=100_000, stop="none", n_jobs=1)
        model.fit(data, callback=lambda *_: time.monotonic() - start > 0.5)
    finally:
        done.set()
        counter.join()
    # A thread that sleeps a millisecond at a time would wake a handful of times if the GIL were held.
    assert ticks[0] > 50


# Fork and spawn --------------------------------------------------------------------------------


def child_fit(problem: Problem, n_jobs: int) -> bytes:
    return problem.fit("clenshaw-gcn", n_jobs=n_jobs).decision_function().tobytes()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fit_after_fork_does_not_hang(problem: Problem) -> None:
    expected = child_fit(problem, 2)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        # No exception may leave the child: it would run the other tests again.
        try:
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(child_fit(problem, 2))
        finally:
            os._exit(0)
    os.close(writer)
    deadline = time.monotonic() + LIMIT
    ended = (0, 0)
    while ended[0] == 0 and time.monotonic() < deadline:
        ended = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    if ended[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("fit hangs after fork")
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == expected


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_worker_processes(problem: Problem, method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method}")
    expected = child_fit(problem, 2)
    with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        futures = [pool.submit(child_fit, problem, n_jobs) for n_jobs in (1, 2, 2)]
        for future in futures:
            assert future.result(timeout=LIMIT) == expected


def predict_elsewhere(model: NodeClassifier, nodes: clenshaw.Nodes) -> np.ndarray:
    return model.predict_proba(nodes)


def test_models_and_nodes_cross_processes(problem: Problem) -> None:
    model, nodes = problem.fit("clenshaw-gcn"), clenshaw.Nodes(problem.edge_index, problem.X)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(predict_elsewhere, model, nodes[np.arange(5)]).result(timeout=LIMIT)
    assert np.array_equal(found, model.predict_proba()[:5])


def test_graphs_keep_weights_and_notes_when_pickled() -> None:
    nodes = clenshaw.Nodes(([[0, 1, 2], [1, 2, 2]], [0.5, 2.0, 1.0]), np.eye(4))
    copied = pickle.loads(pickle.dumps(nodes))
    for a, b in zip(copied.graph.graph.to_csr(), nodes.graph.graph.to_csr(), strict=True):
        assert np.array_equal(a, b)
    assert copied.graph.graph.notes == nodes.graph.graph.notes == ["self-loops removed: 1"]
    assert copied.shape == (4, 4) and np.array_equal(copied.X, np.eye(4))


# Ctrl-C ----------------------------------------------------------------------------------------


def interrupt(code: str, *, after: str = "started") -> tuple[float, str, str]:
    """Run code, send SIGINT when it prints ``after``, and return seconds until it ends, output and errors."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.strip() == after:
                break
        time.sleep(0.3)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=LIMIT)
        return time.monotonic() - start, output, errors
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


PREPARE = """
    import clenshaw, numpy as np
    data = clenshaw.make_csbm(n_nodes=2000, random_state=0)
    model = clenshaw.NodeClassifier("clenshaw-gcn", max_epochs=1_000_000, stop="none", random_state=0{params})
    print("started")
"""


@pytest.mark.parametrize("params", ["", ", verbose=1", ", n_jobs=1"])
def test_ctrl_c_ends_training_and_keeps_the_best_epoch(params: str) -> None:
    seconds, output, errors = interrupt(
        PREPARE.format(params=params)
        + """
    try:
        model.fit(data)
    except KeyboardInterrupt:
        print("interrupted", model.n_iter_ >= 1, model.score(mask=model.train_mask_) > 0.3, len(model.history_["epoch"]) == model.n_iter_)
    """
    )
    assert output.strip() == "interrupted True True True", errors
    assert seconds < 3, seconds


def test_ctrl_c_ends_a_comparison() -> None:
    seconds, output, errors = interrupt(
        PREPARE.format(params="")
        + """
    try:
        clenshaw.compare(data, [model, "gcn"], n_runs=5)
    except KeyboardInterrupt:
        print("interrupted")
    """
    )
    assert output.strip() == "interrupted", errors
    assert seconds < 3, seconds


def test_ctrl_c_ends_tuning(tmp_path: Path) -> None:
    journal = tmp_path / "study.journal"
    seconds, output, errors = interrupt(
        PREPARE.format(params="")
        + f"""
    try:
        clenshaw.tune(data, "clenshaw-gcn", n_trials=10, params=dict(max_epochs=100_000, stop="none"), study={str(journal)!r})
    except KeyboardInterrupt:
        print("interrupted")
    """
    )
    assert output.strip() == "interrupted", errors
    assert seconds < 3, seconds
    assert journal.exists()


def test_without_a_handler_ctrl_c_ends_the_program() -> None:
    _, _, errors = interrupt(PREPARE.format(params="") + "\n    model.fit(data)\n")
    assert "KeyboardInterrupt" in errors


# Memory ----------------------------------------------------------------------------------------


def resident() -> int:
    """Bytes of memory in use by this process, without what the allocator keeps for later."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(problem: Problem, n_fits: int) -> float:
    """Megabytes that fits add, after those that warm up."""
    data = clenshaw.make_csbm(n_nodes=200, degree=5, random_state=0)

    def fit(seed: int) -> None:
        model = NodeClassifier("clenshaw-gcn", max_epochs=2, random_state=seed)
        model.fit(data.edge_index, data.X, data.y, callback=lambda *_: None)
        model.predict(data.edge_index, data.X)
        pickle.loads(pickle.dumps(model)).transform(data.edge_index, data.X)
        problem.fit("gcn", max_epochs=1).state_dict()

    for seed in range(n_fits // 4):
        fit(seed)
    before = resident()
    for seed in range(n_fits):
        fit(seed)
    return (resident() - before) / 1e6


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_memory_stays_flat(problem: Problem) -> None:
    # One leaked feature matrix per fit would be 5 MB.
    assert growth(problem, 200) < 3


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_memory_stays_flat_over_a_thousand_fits(problem: Problem) -> None:
    assert growth(problem, 1000) < 3


def test_failed_fits_do_not_leak_threads(problem: Problem) -> None:
    def n_threads() -> int:
        return len(os.listdir("/proc/self/task"))

    problem.fit(n_jobs=4)
    before = n_threads()
    for _ in range(20):
        problem.fit(n_jobs=4, max_epochs=1)
        with pytest.raises(ValueError):
            problem.fit(n_jobs=4, hidden=-1)
        with pytest.raises(RuntimeError):

            def fail(*_: Any) -> None:
                raise RuntimeError

            NodeClassifier("gcn", n_jobs=4).fit(problem.edge_index, problem.X, problem.y, callback=fail)
    assert n_threads() <= before
