"""Runs optuna-dashboard: `dashboard.py LOCATION`; prints the first study as returned by its HTTP API."""

import json
import pathlib
import socket
import subprocess
import sys
import time
import urllib.request


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as response:
        return json.load(response)


def get_when_ready(port, path, server):
    end = time.monotonic() + 60
    while True:
        try:
            return get(port, path)
        except (urllib.error.URLError, ConnectionError):
            if time.monotonic() > end or server.poll() is not None:
                raise
            time.sleep(0.1)


def main(location):
    port = free_port()
    program = pathlib.Path(sys.executable).parent / "optuna-dashboard"
    arguments = [location, "--port", str(port)]
    if "://" not in location:
        arguments += ["--storage-class", "JournalFileStorage"]
    server = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        studies = get_when_ready(port, "/api/studies", server)["study_summaries"]
        detail = get(port, f"/api/studies/{studies[0]['study_id']}")
        print(json.dumps({"studies": studies, "detail": detail}))
    finally:
        server.terminate()
        server.wait()


main(sys.argv[1])
