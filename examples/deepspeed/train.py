"""DeepSpeed's own start-up under dllaunch: no `deepspeed` launcher, no hostfile, no ssh."""
import deepspeed
import torch

gpu = torch.cuda.is_available()
deepspeed.init_distributed("nccl" if gpu else "gloo")  # reads RANK, LOCAL_RANK, MASTER_ADDR, ...

rank, world = deepspeed.comm.get_rank(), deepspeed.comm.get_world_size()
local_rank = deepspeed.comm.get_local_rank()
device = torch.device("cuda", local_rank) if gpu else torch.device("cpu")
total = torch.tensor([rank + 1.0], device=device)
deepspeed.comm.all_reduce(total)
print(f"rank {rank} of {world}, local rank {local_rank}: sum {float(total)}", flush=True)
assert float(total) == world * (world + 1) / 2
