"""The real optuna-dashboard: `dashboard.py PLACE`; prints its first study, as its HTTP API has it."""

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


def answer(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as response:
        return json.load(response)


def patient_answer(port, path, server):
    end = time.monotonic() + 60
    while True:
        try:
            return answer(port, path)
        except (urllib.error.URLError, ConnectionError):
            if time.monotonic() > end or server.poll() is not None:
                raise
            time.sleep(0.1)


def main(place):
    port = free_port()
    program = pathlib.Path(sys.executable).parent / "optuna-dashboard"
    words = [place, "--port", str(port)]
    if "://" not in place:
        words += ["--storage-class", "JournalFileStorage"]
    server = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        studies = patient_answer(port, "/api/studies", server)["study_summaries"]
        detail = answer(port, f"/api/studies/{studies[0]['study_id']}")
        print(json.dumps({"studies": studies, "detail": detail}))
    finally:
        server.terminate()
        server.wait()


main(sys.argv[1])
