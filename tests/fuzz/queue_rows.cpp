// squeue's rows of the whole queue, and sbatch's estimate of a start.
#include "launcher/slurm/queue_rows.hpp"
#include "launcher/slurm/host_list.hpp"
#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const auto text = text_of(data, size);
  for (const auto& row : parse_queue_rows(text)) {
    must_hold(row.nodes >= 1 && row.nodes <= 1 << 20, "a job has nodes, not more than any cluster");
    must_hold(row.tasks >= 1 && row.tasks <= 1 << 20, "and tasks");
    must_hold(row.waits == row.hosts.empty(), "what runs holds nodes, what waits holds none");
    must_hold(!row.limit_s || *row.limit_s >= 0, "no limit lies in the past");
  }
  for (const auto& host : parse_busy_hosts(text)) must_hold(!host.empty(), "a host has a name");
  if (const auto estimate = parse_start_estimate(text)) {
    must_hold(text.find("to start at ") != std::string_view::npos, "an estimate says so");
    must_hold(estimate->partition.find(' ') == std::string::npos, "a partition is one word");
  }
  return 0;
}
