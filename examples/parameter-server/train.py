"""Asynchronous gradient descent: workers fetch weights from the server and send it gradients."""
import json
import os
import random
import socket
import threading
import time

FEATURES, STEPS = 4, 60
TRUTH = [1.0, -2.0, 0.5, 3.0]


def component(name, key):
    return os.environ[f"DLLAUNCH_COMPONENT_{name}_{key}"]


def serve():
    weights, lock = [0.0] * FEATURES, threading.Lock()

    def talk(connection):
        with connection, connection.makefile("rw") as lines:
            for line in lines:
                with lock:
                    for i, slope in enumerate(json.loads(line)):
                        weights[i] -= 0.1 * slope
                    answer = json.dumps(weights)
                print(answer, file=lines, flush=True)

    workers = int(component("WORKER", "RANKS"))
    threads = []
    with socket.create_server(("", int(component("SERVER", "PORT")))) as server:
        for _ in range(workers):
            connection, _ = server.accept()
            threads.append(threading.Thread(target=talk, args=(connection,)))
            threads[-1].start()
    for thread in threads:
        thread.join()
    error = max(abs(w - t) for w, t in zip(weights, TRUTH))
    print(f"server: {workers} workers are done, largest error {error:.3f}", flush=True)
    if error > 0.1:
        raise SystemExit("the weights are wrong")


def connect(seconds=60):
    end = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection((component("SERVER", "ADDRESS"), int(component("SERVER", "PORT"))), seconds)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def work():
    random_numbers = random.Random(int(os.environ["RANK"]))
    gradient = [0.0] * FEATURES
    with connect() as connection, connection.makefile("rw") as lines:
        for _ in range(STEPS):
            print(json.dumps(gradient), file=lines, flush=True)
            weights = json.loads(lines.readline())
            gradient = [0.0] * FEATURES
            for _ in range(32):
                point = [random_numbers.uniform(-1, 1) for _ in range(FEATURES)]
                error = sum((w - t) * x for w, t, x in zip(weights, TRUTH, point))
                for i, x in enumerate(point):
                    gradient[i] += 2 * error * x / 32
    print(f"worker {os.environ['RANK']}: {STEPS} steps", flush=True)


if __name__ == "__main__":
    serve() if os.environ["DLLAUNCH_COMPONENT"] == "server" else work()
