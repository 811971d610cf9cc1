// What Slurm's commands print. Nothing is refused there: what makes no sense yields nothing.
#include "launcher/slurm_text.hpp"
#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto text = text_of(data, size);
  parse_slurm_config(text);
  parse_mpi_list(text);
  parse_queue(text);
  for (const auto& partition : parse_slurm_partitions(text))
    must_hold(!partition.name.empty(), "a partition has a name");
  for (const auto& job : parse_slurm_jobs(text)) must_hold(!job.id.empty(), "a job has an id");
  for (const auto& node : parse_slurm_nodes(text))
    must_hold(!node.name.empty(), "a node has a name");
  if (const auto minutes = parse_slurm_minutes(text))
    must_hold(*minutes >= 0, "a duration is not negative");
  return 0;
}
