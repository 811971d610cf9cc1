"""Horovod with PyTorch under dllaunch: no horovodrun, no ssh."""
import horovod.torch as hvd
import torch

hvd.init()
if torch.cuda.is_available():
    torch.cuda.set_device(hvd.local_rank())
device = "cuda" if torch.cuda.is_available() else "cpu"

torch.manual_seed(hvd.rank())
model = torch.nn.Linear(4, 1, bias=False).to(device)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.2),
                                     named_parameters=model.named_parameters())
truth = torch.tensor([[1.0], [-2.0], [3.0], [0.5]], device=device)
for step in range(100):
    x = torch.randn(64, 4, device=device)  # each rank its own
    loss = torch.nn.functional.mse_loss(model(x), x @ truth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

loss = hvd.allreduce(loss.detach())
print(f"rank {hvd.rank()} of {hvd.size()}, local rank {hvd.local_rank()} of {hvd.local_size()}: "
      f"mean loss {float(loss):.6f}", flush=True)
assert loss < 1e-3
