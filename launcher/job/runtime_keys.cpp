#include "launcher/job/runtime_keys.hpp"

#include "launcher/job/key_rules.hpp"

namespace dllaunch {
namespace {

Json layers(const Json& type) {
  return {{"type", type},
          {"items", {{"type", "string"}, {"minLength", 1}, {"x-expected", "a layer's name"}}},
          {"x-expected", "a list of layers"}};
}

}  // namespace

std::vector<JobKey> runtime_keys() {
  return {
      {.path = "runtime", .rules = block(), .doc = "how ranks exchange gradients"},
      {.path = "runtime.allreduce",
       .rules =
           choices({"auto", "solo", "hierarchical", "mpi", "nccl", "ring", "parameter-server"}),
       .initial = "auto",
       .doc = "communicator that reduces gradients; auto: solo for one rank, nccl where GPUs "
              "compute and have it, else hierarchical"},
      {.path = "runtime.transport",
       .rules = choices({"auto", "tcp", "mpi"}),
       .initial = "auto",
       .doc = "how ranks of the built-in trainer exchange messages; auto: tcp without an MPI "
              "module, else mpi where srun has PMIx, or without Slurm where mpirun is installed, "
              "else tcp; with run:, tcp starts the ranks without MPI and mpi with it"},
      {.path = "runtime.bucket_mb",
       .rules = automatic_or({{"type", "number"}, {"exclusiveMinimum", 0}}),
       .initial = "auto",
       .doc = "MiB of gradients per collective; auto: the fastest of some sizes, tried in the "
              "first steps and remembered"},
      {.path = "runtime.overlap",
       .rules = flag(),
       .initial = true,
       .doc = "reduce gradients while the backward pass still runs"},
      {.path = "runtime.compression",
       .rules = choices({"none", "fp16", "bf16"}),
       .initial = "none",
       .doc = "wire format of gradients; rounding errors of fp16 and bf16 are fed back in the next "
              "step (docs/explanation/reducer.md)"},
      {.path = "runtime.gradient_lag",
       .rules = whole(0, 1),
       .initial = 0,
       .doc = "1: a step's gradients are applied at the end of the next step, which hides the "
              "reduction behind a whole step"},
      {.path = "runtime.stall_seconds",
       .rules = {{"type", "number"}, {"exclusiveMinimum", 0}},
       .initial = 60,
       .doc = "seconds after which a collective is late: the straggler is named"},
      {.path = "runtime.stall_abort_seconds",
       .rules = {{"type", "number"}, {"exclusiveMinimum", 0}},
       .initial = 600,
       .doc = "seconds after which a late collective ends the ranks; more than stall_seconds; with "
              "run:, only if set: seconds without output or heartbeat"},
      {.path = "runtime.timeline",
       .rules = flag(),
       .initial = false,
       .doc = "record a timeline of every rank, for `dllaunch report RUN --timeline`"},
      {.path = "runtime.pipeline",
       .rules = block(),
       .doc = "the network of `train:` is cut into stages, each on ranks of its own, if one rank "
              "cannot hold it (docs/how-to/pipeline.md)"},
      {.path = "runtime.pipeline.stages",
       .rules = whole(1, 4096),
       .initial = 1,
       .doc = "parts of the network; 1: every rank has all of it; the job's ranks are a multiple"},
      {.path = "runtime.pipeline.cut",
       .rules = layers(Json::array({"array", "null"})),
       .initial = nullptr,
       .doc = "the last layer of each stage but the last; null: chosen by measuring",
       .example = Json::array({"layer2"})},
      {.path = "runtime.split_dense",
       .rules = layers("array"),
       .initial = Json::array(),
       .doc = "dense layers of `train:` of which each rank holds only some columns, if they are "
              "too large for one (docs/how-to/split-dense.md)",
       .example = Json::array({"fc6", "fc7"})},
  };
}

std::vector<JobKey> integrity_keys() {
  Json steps = whole(0, 1'000'000'000);
  steps["type"] = Json::array({"integer", "null"});
  return {
      {.path = "runtime.integrity",
       .rules = block(),
       .doc = "finds ranks of `train:` that compute or store wrong numbers "
              "(docs/how-to/integrity.md)"},
      {.path = "runtime.integrity.every_steps",
       .rules = std::move(steps),
       .initial = nullptr,
       .doc = "steps between comparisons of what the ranks hold; each checkpoint is preceded by "
              "one; 0: never; null: 50, never with weights on GPUs",
       .example = 50},
  };
}

}  // namespace dllaunch
