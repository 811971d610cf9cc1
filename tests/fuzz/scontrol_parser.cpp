// What Slurm's commands print. Nothing is refused there: what makes no sense yields nothing.

#include "launcher/slurm/scontrol_parser.hpp"
#include "launcher/cluster/slurm_facts.hpp"
#include "launcher/slurm/client.hpp"
#include "launcher/slurm/slurm_json.hpp"
#include "support/json.hpp"
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
  for (const auto& job : parse_accounting(text, "74"))
    must_hold(job.id == "74" || job.array_job == "74", "accounting's record is of that job");
  for (const auto& job : parse_job_words(text))
    must_hold(!job.id.empty() && job.words.find('\n') == std::string::npos, "a line each");
  if (const auto time = parse_slurm_time(text))
    must_hold(parse_slurm_time(slurm_time(static_cast<double>(*time))) == *time,
              "a time is written as it is read");
  for (const auto& node : parse_slurm_nodes(text))
    must_hold(!node.name.empty(), "a node has a name");
  for (const auto& reservation : parse_slurm_reservations(text))
    must_hold(!reservation.name.empty(), "a reservation has a name");
  for (const auto& association : parse_associations(text))
    must_hold(!association.account.empty(), "an association has an account");
  for (const auto& node : parse_slurm_json(text).nodes)
    must_hold(!node.name.empty(), "a node has a name in JSON too");
  if (const auto facts = facts_from_recording(text)) {
    const auto back = facts_from_json(to_json(*facts));
    must_hold(back && to_json(*back) == to_json(*facts), "recorded facts round-trip");
  }
  if (const auto minutes = parse_slurm_minutes(text))
    must_hold(*minutes >= 0, "a duration is not negative");
  if (const auto seconds = parse_slurm_elapsed(text))
    must_hold(*seconds >= 0, "an elapsed time is not negative");
  return 0;
}
