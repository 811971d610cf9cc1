"""jax.distributed under dllaunch: initialize() needs no arguments, one sum over all processes."""
import jax

jax.distributed.initialize()  # before anything else of JAX; reads JAX_COORDINATOR_ADDRESS

import jax.numpy as jnp

mine = jnp.full((jax.local_device_count(),), jax.process_index() + 1.0)
total = jax.pmap(lambda x: jax.lax.psum(x, "all"), axis_name="all")(mine)
print(f"process {jax.process_index()} of {jax.process_count()}: "
      f"{jax.local_device_count()} of {jax.device_count()} devices, psum {float(total[0])}",
      flush=True)
