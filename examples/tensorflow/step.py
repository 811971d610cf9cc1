"""One step of MultiWorkerMirroredStrategy under dllaunch: TF_CONFIG is all it needs."""
import os

import tensorflow as tf

# Several ranks on a node with GPUs: each drives its own.
gpus = tf.config.list_physical_devices("GPU")
if gpus and int(os.environ["LOCAL_WORLD_SIZE"]) > 1:
    tf.config.set_visible_devices(gpus[int(os.environ["LOCAL_RANK"]) % len(gpus)], "GPU")

strategy = tf.distribute.MultiWorkerMirroredStrategy()  # first: it starts the worker's server
worker = strategy.cluster_resolver.task_id
with strategy.scope():
    weight = tf.Variable(1.0)


@tf.function
def step():
    def on_replica():
        gradient = tf.constant(worker + 1.0)
        context = tf.distribute.get_replica_context()
        total = context.all_reduce(tf.distribute.ReduceOp.SUM, gradient)
        weight.assign_sub(0.1 * total)
        return total

    return strategy.run(on_replica)


total = strategy.reduce(tf.distribute.ReduceOp.MEAN, step(), axis=None)
print(f"worker {worker} of {strategy.num_replicas_in_sync}: gradients sum to {float(total)}, "
      f"weight {float(weight.numpy()):.1f}", flush=True)
