"""Serves batches over TCP: each rank of the loader to the trainer's ranks that connect to it."""
import os
import random
import signal
import socket
import struct
import sys
import threading

FEATURES, BATCH = 8, 64
WEIGHTS = [0.5 * (i - 3) for i in range(FEATURES)]


def make_batch(random_numbers):
    """Points of a noisy plane: features and target, as 32-bit floats."""
    numbers = []
    for _ in range(BATCH):
        point = [random_numbers.uniform(-1, 1) for _ in range(FEATURES)]
        target = sum(w * x for w, x in zip(WEIGHTS, point)) + random_numbers.gauss(0, 0.01)
        numbers += point + [target]
    return struct.pack(f"!{len(numbers)}f", *numbers)


def serve(connection, seed):
    """One byte asks for a batch; the end of the connection ends the thread."""
    random_numbers = random.Random(seed)
    with connection:
        while connection.recv(1):
            batch = make_batch(random_numbers)
            connection.sendall(struct.pack("!I", len(batch)) + batch)


def main():
    rank = int(os.environ["RANK"])
    port = int(os.environ["DLLAUNCH_COMPONENT_LOADER_PORT"]) + int(os.environ["LOCAL_RANK"])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(print("loader: told to stop", flush=True)))
    with socket.create_server(("", port)) as server:
        print(f"loader {rank}: serves at port {port}", flush=True)
        for number in range(1 << 30):
            connection, _ = server.accept()
            threading.Thread(target=serve, args=(connection, 1000 * rank + number), daemon=True).start()


if __name__ == "__main__":
    main()
