"""Fits a plane to the batches that the loader serves."""
import argparse
import os
import socket
import struct
import time

FEATURES = 8


def connect(address, port, seconds=60):
    """The components start together, so the loader may not listen yet."""
    end = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection((address, port), timeout=seconds)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def read(connection, size):
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionError("the loader is gone")
        data += piece
    return data


def next_batch(connection):
    connection.sendall(b"n")
    (size,) = struct.unpack("!I", read(connection, 4))
    numbers = struct.unpack(f"!{size // 4}f", read(connection, size))
    return [numbers[i : i + FEATURES + 1] for i in range(0, len(numbers), FEATURES + 1)]


def step(weights, batch, rate=0.3):
    """One step of gradient descent; returns the mean squared error before it."""
    gradient, loss = [0.0] * FEATURES, 0.0
    for *point, target in batch:
        error = sum(w * x for w, x in zip(weights, point)) - target
        loss += error * error / len(batch)
        for i, x in enumerate(point):
            gradient[i] += 2 * error * x / len(batch)
    for i in range(FEATURES):
        weights[i] -= rate * gradient[i]
    return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    steps = parser.parse_args().steps
    # Rank i is served by loader i, modulo their number: rank r of the loader is on node r // (ranks / nodes), since
    # job.yaml has its nodes numbered as Slurm lists them.
    rank = int(os.environ["RANK"])
    hosts = os.environ["DLLAUNCH_COMPONENT_LOADER_HOSTS"].split(",")
    loaders = int(os.environ["DLLAUNCH_COMPONENT_LOADER_RANKS"])
    per_host = loaders // len(hosts)
    loader = rank % loaders
    port = int(os.environ["DLLAUNCH_COMPONENT_LOADER_PORT"]) + loader % per_host
    weights = [0.0] * FEATURES
    with connect(hosts[loader // per_host], port) as connection:
        for number in range(1, steps + 1):
            loss = step(weights, next_batch(connection))
            if number % 10 == 0:
                print(f"step {number} loss {loss:.4f}", flush=True)
    if loss > 0.05:
        raise SystemExit(f"the loss is {loss:.4f} after {steps} steps")


if __name__ == "__main__":
    main()
