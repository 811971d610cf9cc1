// Every reader of text from outside reads the worst of a size in time and memory that grow with it,
// or refuses it by the name of a limit. A reader without a row fails.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "launcher/accounting/event_readings.hpp"
#include "launcher/accounting/rank_memory.hpp"
#include "launcher/autopsy/flight_record.hpp"
#include "launcher/autopsy/pickle.hpp"
#include "launcher/autopsy/python_stacks.hpp"
#include "launcher/autopsy/stored_stacks.hpp"
#include "launcher/base/moment.hpp"
#include "launcher/base/shell_quote.hpp"
#include "launcher/base/time_span.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/cluster/slurm_facts.hpp"
#include "launcher/config/yaml_tree.hpp"
#include "launcher/daemon/client/daemon_lock.hpp"
#include "launcher/daemon/client/settings.hpp"
#include "launcher/daemon/curve.hpp"
#include "launcher/daemon/run_text.hpp"
#include "launcher/doctor/proc_text.hpp"
#include "launcher/failures/book_rates.hpp"
#include "launcher/failures/outages.hpp"
#include "launcher/init/convert_sbatch.hpp"
#include "launcher/init/srun_words.hpp"
#include "launcher/job/job_file.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/job/rank_launcher.hpp"
#include "launcher/links/link_history.hpp"
#include "launcher/links/link_messages.hpp"
#include "launcher/lint/bash/shell_reader.hpp"
#include "launcher/lint/lint.hpp"
#include "launcher/lint/script.hpp"
#include "launcher/network/ibnetdiscover.hpp"
#include "launcher/network/read_network.hpp"
#include "launcher/network/slurm_topology.hpp"
#include "launcher/network/topology_address.hpp"
#include "launcher/nodes/compact_sightings.hpp"
#include "launcher/nodes/judge_nodes.hpp"
#include "launcher/os/ancestors.hpp"
#include "launcher/os/posix_system.hpp"
#include "launcher/os/program_version.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/plan/pipeline/rank_stages.hpp"
#include "launcher/plan/pipeline/split_layers.hpp"
#include "launcher/plan/sbatch_overrides.hpp"
#include "launcher/postmortem/exit_classification.hpp"
#include "launcher/provenance/code_state.hpp"
#include "launcher/provenance/provenance.hpp"
#include "launcher/provenance/python_state.hpp"
#include "launcher/provenance/record_provenance.hpp"
#include "launcher/provenance/versions.hpp"
#include "launcher/rank/rank_shim.hpp"
#include "launcher/rank/rendezvous/messages.hpp"
#include "launcher/report/rank_times.hpp"
#include "launcher/report/run_series.hpp"
#include "launcher/run/events.hpp"
#include "launcher/run/failure.hpp"
#include "launcher/run/first_error.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/run/run_dir_files.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/run/summary.hpp"
#include "launcher/slurm/array_tasks.hpp"
#include "launcher/slurm/client.hpp"
#include "launcher/slurm/gres.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/job_usage.hpp"
#include "launcher/slurm/node_survey.hpp"
#include "launcher/slurm/queue_rows.hpp"
#include "launcher/slurm/refusals.hpp"
#include "launcher/slurm/scontrol_parser.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "launcher/slurm/slurm_json.hpp"
#include "launcher/slurm/slurm_messages.hpp"
#include "launcher/slurm/slurm_time.hpp"
#include "launcher/staging/stage_parcel.hpp"
#include "launcher/supervise/corruption.hpp"
#include "launcher/supervise/hold/retry_order.hpp"
#include "launcher/supervise/supervised_run.hpp"
#include "launcher/sweep/stored_sweep.hpp"
#include "launcher/sweep/trial_metric.hpp"
#include "launcher/timeline/timeline_sources.hpp"
#include "runtime/communicators/tcp/hello.hpp"
#include "runtime/rank/run_ownership.hpp"
#include "runtime/watchdog/kernel_view.hpp"
#include "support/file_text.hpp"
#include "support/id_set.hpp"
#include "support/json.hpp"
#include "support/parse_number.hpp"
#include "support/random.hpp"
#include "tests/launcher/files_of_a_run.hpp"
#include "tests/support/large_inputs.hpp"
#include "tests/support/odd_files.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/temporary_folder.hpp"
#include "topology/discovery/cgroup_paths.hpp"
#include "topology/discovery/discover_hwloc_xml.hpp"
#include "topology/discovery/topology_format.hpp"
#include "topology/node/synthetic.hpp"
#include "topology/placement/placement.hpp"
#include "topology/render/renderings.hpp"

namespace dllaunch {
namespace {

using Text = std::string_view;

void use(const auto&) {}

/// A file for readers of files.
struct StoredText {
  TemporaryFolder folder;
  std::string path = folder.path() + "/stored";
  explicit StoredText(Text text) { std::ofstream(path, std::ios::binary) << text; }
};

/// With the sums that make observations of its lines.
std::string summed_lines(Text text) {
  std::string lines;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    lines += fmt::format("{},\"sum\":\"{:016x}\"}}\n", line, stable_hash(line));
  }
  return lines;
}

/// What `nodes`, `plan`, `forecast` and each run do with it.
void use_node_history(Text text) {
  constexpr double now = 1'800'000'000;
  const auto read = sightings_in(text.substr(0, 4 << 20));
  judge_nodes(read.all, now);
  use(rates_of_book(read.all, "c", now));
  compact_sightings(read.all, now, 1 << 20);
}

constexpr Text event =
    R"(|{"time":1.5,"event":"step","token":1,"epoch":1,"step":1,"loss":0.5,"lr":0.1}
|)";
constexpr Text slurm_nodes =
    "|NodeName=n1 CPUTot=8 Gres=gpu:a100:4 RealMemory=1000 State=IDLE Partitions=a,b\n|";
constexpr Text job_lines = "|JobId=1 JobName=a JobState=RUNNING NodeList=n[1-2] Reason=None\n|";
constexpr Text script =
    "#!/bin/bash\n#SBATCH --nodes=2\n|srun --ntasks=1 python train.py $a 1 \"b\"\n|wait\n";
constexpr Text json = R"({"a":[{"b":1}],|"k1":1,|"z":2})";
constexpr Text network = "|SwitchName=s1 Nodes=n[1-9]\n|";
constexpr Text history =
    R"(|{"time":1799999999,"kind":"used","cluster":"c","nodes":"n1","run":"1","value":1
|)";
constexpr Text failures =
    R"(|{"time":1799999999,"kind":"failed","cluster":"c","nodes":"n","run":"1","value":1
|)";
constexpr Text wide_uses =
    R"(|{"time":1799999999,"kind":"used","cluster":"c","nodes":"n1-[1-60000]","value":1
|)";
constexpr Text stacks = "|Thread 0x01 (most recent call first):\n  File \"a.py\", line 1 in f\n|";

const SizedReader readers[] = {
    {"accept", [](Text t) { use(Json::accept(t)); }, json},
    {"characters_in", [](Text t) { use(characters_in(t)); }, ""},
    {"code_state_in", [](Text t) { use(code_state_in(t)); }, "|1 .M N... 1 1 1 0 0 file1\n|"},
    {"command_in", [](Text t) { use(command_in(t)); }, ""},
    {"convert_sbatch", [](Text t) { use(convert_sbatch(t, {})); }, script},
    {"corruptions_in", [](Text t) { use(corruptions_in(t, 1, {"n1"})); },
     R"(|{"time":1,"event":"corrupted","token":1,"ranks":[1]}
|)"},
    {"dead_rank_from_mpirun", [](Text t) { use(dead_rank_from_mpirun(t)); },
     "|mpirun noticed that process rank 1 with PID 1 on node n1 exited on signal 9\n|"},
    {"dead_rank_from_spawn", [](Text t) { use(dead_rank_from_spawn(t)); },
     "|dllaunch: rank 1 was killed by signal 9\n|"},
    {"dead_rank_from_srun", [](Text t) { use(dead_rank_from_srun(t)); },
     "|srun: error: n1: task 1: Exited with exit code 1\n|"},
    {"error_in_log", [](Text t) { use(error_in_log(t)); },
     "|Traceback:\n  File 1\nValueError: 1\n|"},
    {"expand_hosts", [](Text t) { use(expand_hosts(t)); }, "|n[1-3],m1,|x"},
    {"facts_from_recording", [](Text t) { use(facts_from_recording(t)); }, slurm_nodes},
    {"gpu_libraries_in", [](Text t) { use(gpu_libraries_in(t)); },
     "|7f00-7f01 r-xp 00000000 00:01 1 /usr/lib/libnccl.so.1\n|"},
    {"gpu_type_in", [](Text t) { use(gpu_type_in(std::string(t))); }, "--gres=gpu:|a1,|"},
    {"job_id_in", [](Text t) { use(job_id_in(t)); }, "|Submitted batch job 1\n|"},
    {"json_object_in", [](Text t) { use(json_object_in(t)); }, json},
    {"killed_rank_from_srun", [](Text t) { use(killed_rank_from_srun(t)); },
     "|srun: error: n1: task 1: Killed\n|"},
    {"launch_failure_in", [](Text t) { use(launch_failure_in(t)); }, "|srun: error: 1\n|"},
    {"link_call_from", [](Text t) { use(link_call_from(t, 4)); }, json},
    {"link_reply_from", [](Text t) { use(link_reply_from(t, 4)); }, json},
    {"link_task_from", [](Text t) { use(link_task_from(t)); }, json},
    {"lint", [](Text t) { use(lint::lint(t, {})); }, script},
    {"load_topology",
     [](Text t) {
       const StoredText file(t);
       use(load_topology(file.path));
     },
     R"({"packages":1,"numa":[{"index":0,"cpus":"0-7"}],"cores":[|{"cpus":"1","l3":1},|{}]})"},
    {"load_topology",
     [](Text t) {
       const StoredText file(t);
       use(load_topology(file.path));
     },
     "<?xml version=\"1.0\"?><topology>|<object type=\"Core\" os_index=\"1\"/>|</topology>"},
    {"lost_node_in", [](Text t) { use(lost_node_in(t)); }, "|srun: error: Node failure on n1\n|"},
    {"moment_in", [](Text t) { use(moment_in(t, 0)); }, ""},
    {"names_in", [](Text t) { use(lint::names_in(t.substr(0, 512 << 10))); }, "|a1+|"},
    {"nvidia_devices_in", [](Text t) { use(nvidia_devices_in(t)); }, "|c 195:1 rwm\n|"},
    {"nvidia_driver_in", [](Text t) { use(nvidia_driver_in(t)); }, "|NVRM version: 1.2.3\n|"},
    {"parse_accounting", [](Text t) { use(parse_accounting(t, "1")); }, "|1|RUNNING|0:0|n1|\n|"},
    {"parse_array_tasks", [](Text t) { use(parse_array_tasks(t)); }, "1_[|1-3,|5]"},
    {"parse_associations", [](Text t) { use(parse_associations(t)); }, "|a1|b|c\n|"},
    {"parse_bind_cores", [](Text t) { use(parse_bind_cores(t)); }, ""},
    {"parse_bind_format", [](Text t) { use(parse_bind_format(t)); }, ""},
    {"parse_bind_mode", [](Text t) { use(parse_bind_mode(t)); }, ""},
    {"parse_bind_policy", [](Text t) { use(parse_bind_policy(t)); }, ""},
    {"parse_busy_hosts", [](Text t) { use(parse_busy_hosts(t)); }, "|n1 1\n|"},
    {"parse_cluster_profile", [](Text t) { use(parse_cluster_profile(t, "f")); },
     "name: c\npartitions:\n|  p1: {nodes: 1, node_type: a}\n|"},
    {"parse_event", [](Text t) { use(parse_event(t)); }, event},
    {"parse_faulthandler", [](Text t) { use(parse_faulthandler(t)); }, stacks},
    {"parse_fencing_token", [](Text t) { use(parse_fencing_token(t)); }, ""},
    {"parse_first",
     [](Text t) {
       std::size_t length = 0;
       try {
         Json::parse_first(t, length);
       } catch (const JsonError&) {
       }
     },
     json},
    {"parse_hello", [](Text t) { use(parse_hello(t, "s")); }, json},
    {"parse_id_list", [](Text t) { use(parse_id_list(t)); }, "|1-3,|5"},
    {"parse_job", [](Text t) { use(parse_job(t, "f", {})); },
     "name: a\nrun: b\nenvironment:\n  variables:\n|    a1: b\n|"},
    {"parse_job_usage", [](Text t) { use(parse_job_usage(t)); }, "|1.0|1|1K|n1\n|"},
    {"parse_job_words", [](Text t) { use(parse_job_words(t)); }, job_lines},
    {"parse_journal", [](Text t) { use(parse_journal(t)); },
     R"(|{"time":1,"event":"start","token":1,"job":"1"}
|)"},
    {"parse_listen", [](Text t) { use(parse_listen(std::string(t))); }, ""},
    {"parse_mask", [](Text t) { use(parse_mask(t)); }, "0x|1|"},
    {"parse_mpi_list", [](Text t) { use(parse_mpi_list(t)); }, "MPI plugin types are...\n|pmi1\n|"},
    {"parse_noting_repeats",
     [](Text t) {
       std::string twice;
       Json::parse_noting_repeats(t, twice);
     },
     json},
    {"parse_numa_maps", [](Text t) { use(parse_numa_maps(t)); }, "|7f01 bind:1 anon=1 N1=1\n|"},
    {"parse_number", [](Text t) { use(parse_number<int>(t)); }, ""},
    {"parse_order", [](Text t) { use(parse_order(t)); }, json},
    {"parse_outages", [](Text t) { use(parse_outages(t, "f")); }, "node,down,up\n|n1,1,2\n|"},
    {"parse_precedence", [](Text t) { use(parse_precedence(t)); }, job_lines},
    {"parse_proc_cgroup", [](Text t) { use(parse_proc_cgroup(t)); }, "|1:cpu:/a/1\n|"},
    {"parse_proc_environment", [](Text t) { use(parse_proc_environment(t)); }, "|A1=b\n|"},
    {"parse_proc_limits", [](Text t) { use(parse_proc_limits(t)); },
     "|Max locked memory 1 1 bytes\n|"},
    {"parse_proc_status", [](Text t) { use(parse_proc_status(t)); }, "|Cpus_allowed_list:\t0-1\n|"},
    {"parse_py_spy", [](Text t) { use(parse_py_spy(t)); },
     R"([|{"thread_id":1,"frames":[{"name":"f","line":1}]},|{}])"},
    {"parse_question", [](Text t) { use(parse_question(t, "n")); }, json},
    {"parse_queue", [](Text t) { use(parse_queue(t)); }, "|1|PENDING|n1|1|1:00\n|"},
    {"parse_queue_rows", [](Text t) { use(parse_queue_rows(t)); }, job_lines},
    {"parse_rank_order", [](Text t) { use(parse_rank_order(t)); }, ""},
    {"parse_rendezvous_point", [](Text t) { use(parse_rendezvous_point(t, "n")); }, json},
    {"parse_settings", [](Text t) { use(parse_settings(std::string(t))); }, json},
    {"parse_slurm_config", [](Text t) { use(parse_slurm_config(t)); }, "|Key1 = 1\n|"},
    {"parse_slurm_elapsed", [](Text t) { use(parse_slurm_elapsed(t)); }, ""},
    {"parse_slurm_jobs", [](Text t) { use(parse_slurm_jobs(t)); }, job_lines},
    {"parse_slurm_json", [](Text t) { use(parse_slurm_json(t)); },
     R"({"nodes":[|{"name":"n1","cores":1,"gres":"gpu:1"},|{}],"jobs":[]})"},
    {"parse_slurm_minutes", [](Text t) { use(parse_slurm_minutes(t)); }, ""},
    {"parse_slurm_nodes", [](Text t) { use(parse_slurm_nodes(t)); }, slurm_nodes},
    {"parse_slurm_partitions", [](Text t) { use(parse_slurm_partitions(t)); },
     "|PartitionName=p1 Nodes=n[1-2] MaxTime=1:00 State=UP\n|"},
    {"parse_slurm_reservations", [](Text t) { use(parse_slurm_reservations(t)); },
     "|ReservationName=r1 Nodes=n[1-2] Users=a,b\n|"},
    {"parse_slurm_seconds", [](Text t) { use(parse_slurm_seconds(t)); }, ""},
    {"parse_slurm_time", [](Text t) { use(parse_slurm_time(t)); }, ""},
    {"parse_start_estimate", [](Text t) { use(parse_start_estimate(t)); },
     "|Job 1 to start at 2026-01-01T00:00:00 using 1 processors on nodes n1 in partition p\n|"},
    {"parse_stat", [](Text t) { use(parse_stat(t)); }, "1 (a) S |1 |"},
    {"parse_table", [](Text t) { use(parse_table(t, 4, "s", "n")); }, json},
    {"parse_topology_addresses", [](Text t) { use(parse_topology_addresses(t)); },
     "|n1 s1.s2.n1\n|"},
    {"parse_welcome", [](Text t) { use(parse_welcome(t, "s", "n")); }, json},
    {"parse_workers", [](Text t) { use(parse_workers(t, 4)); }, json},
    {"parse_yaml", [](Text t) { use(parse_yaml(t, 0)); }, "a:\n|  k1: {b: [1]}\n|"},
    {"past_links_from", [](Text t) { use(past_links_from(t)); }, json},
    {"peaks_in", [](Text t) { use(peaks_in(t, 0)); }, event},
    {"provenance_in", [](Text t) { use(provenance_in(t)); }, json},
    {"python_state_in", [](Text t) { use(python_state_in(std::string(t))); }, json},
    {"rank_launcher_in", [](Text t) { use(rank_launcher_in(t)); }, script},
    {"read_answers", [](Text t) { use(read_answers(t)); }, "|n1: {\"a\":1}\n|"},
    {"read_curve",
     [](Text t) {
       const StoredText file(t);
       read_curve(file.path, 1000);
     },
     event},
    {"read_directive_word", [](Text t) { use(read_directive_word(t, 0)); }, "\"|--a=x \\y|\""},
    {"read_directives", [](Text t) { use(lint::read_directives(t)); },
     "#!/bin/bash\n|#SBATCH --nodes=1\n|"},
    {"read_event_readings",
     [](Text t) {
       const StoredText file(t);
       read_event_readings(file.path, 0);
     },
     event},
    {"read_export_list", [](Text t) { use(read_export_list(t)); }, "ALL|,A='x,y'|"},
    {"read_flight_record", [](Text t) { use(read_flight_record(t)); }, json},
    {"read_gres", [](Text t) { use(read_gres(t)); }, "|gpu:a:1(IDX:0-1),|x"},
    {"read_ibnetdiscover", [](Text t) { use(read_ibnetdiscover(t, "s")); },
     "|Switch 36 \"S-1\" # \"s1\"\n[1] \"H-1\"[1] # \"n1\" lid 1 4xHDR\n\n|"},
    {"read_kernel_view", [](Text t) { use(read_kernel_view(t, t, t)); }, ""},
    {"read_network", [](Text t) { use(read_network(t, "s")); }, network},
    {"read_pickle", [](Text t) { use(read_pickle(t)); }, "\x80\x02|]K\x01|."},
    {"read_planned_binding", [](Text t) { use(read_planned_binding(t)); }, json},
    {"read_script", [](Text t) { use(lint::read_script(t)); }, script},
    {"read_series",
     [](Text t) {
       const StoredText file(t);
       read_series(file.path);
     },
     event},
    {"read_shell", [](Text t) { use(lint::read_shell(t)); }, script},
    {"read_slurm_topology", [](Text t) { use(read_slurm_topology(t, "s")); }, network},
    {"read_split",
     [](Text t) {
       SplitPlan split;
       read_split(t, split);
     },
     R"({"layers":[|{"name":"a1","columns":1},|{}]})"},
    {"read_stages",
     [](Text t) {
       PipelinePlan stages;
       read_stages(t, stages);
     },
     R"({"stages":[|{"name":"a1","bytes":1},|{}]})"},
    {"seconds_in", [](Text t) { use(seconds_in(t)); }, ""},
    {"refusal_in", [](Text t) { use(refusal_in(t)); }, "|Invalid qos |specification"},
    {"sighting_in", [](Text t) { use(sighting_in(summed_lines(t))); }, history},
    {"sightings_in", [](Text t) { use_node_history(t); }, history},
    {"sightings_in", [](Text t) { use_node_history(summed_lines(t)); }, history},
    {"sightings_in", [](Text t) { use_node_history(summed_lines(t)); }, failures},
    {"sightings_in", [](Text t) { use_node_history(summed_lines(t)); }, wide_uses},
    {"start_estimate_in", [](Text t) { use(start_estimate_in(t)); }, ""},
    {"synthetic_topology", [](Text t) { use(synthetic_topology(t)); }, "packages:1 numa:1 cores:2"},
    {"token_in", [](Text t) { use(token_in(t)); }, job_lines},
    {"version_in", [](Text t) { use(version_in(t)); }, "|a 1.2.3\n|"},
};

class LargeInputs : public testing::TestWithParam<SizedReader> {};

TEST_P(LargeInputs, AreReadWithinTheLimits) {
  if (under_a_sanitizer()) GTEST_SKIP() << "a sanitizer's memory and time are not the reader's";
  EXPECT_THAT(inputs_too_large_for(GetParam()), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Readers, LargeInputs, testing::ValuesIn(readers), [](const auto& row) {
  return std::string(row.param.name) + "_" + std::to_string(row.index);
});

TEST(Readers, EveryOneHasARow) {
  std::set<std::string_view> rows;
  for (const auto& reader : readers) rows.insert(reader.name);
  // By convert_sbatch(), which gives it what read_script() found.
  rows.insert("read_leading_environment");
  for (const auto* room : {"support", "topology", "runtime", "launcher"})
    for (const auto& name : readers_in_headers(room))
      EXPECT_TRUE(rows.contains(name)) << name << "() reads text: give it a row";
}

using Path = const std::string&;

RunDir run_at(Path folder) {
  return {.path = folder};
}

/// A reader of a file, or of a folder in which every file of a run is odd.
struct FileReader {
  std::string_view name;
  std::string_view what;  // it reads, in the table of docs/explanation/security.md
  void (*read)(System& system, Path folder, Path file);
};

const FileReader file_readers[] = {
    {"file_checksum", "a data set that `stage:` copies",
     [](System&, Path, Path file) { use(file_checksum(file)); }},
    {"file_end", "`supervisor.jsonl`",
     [](System&, Path, Path file) { use(file_end(file, 65536)); }},
    {"find_timelines", "`timeline/`",
     [](System&, Path f, Path) { use(find_timelines(f + "/timeline")); }},
    {"holder_of", "the daemon's lock", [](System&, Path, Path file) { use(holder_of(file)); }},
    {"load_any_job", "a job file or script that you name",
     [](System& s, Path, Path file) { use(load_any_job(s, file, {})); }},
    {"load_job", "`job.yaml`", [](System& s, Path, Path file) { use(load_job(s, file, {})); }},
    {"load_topology", "a topology", [](System&, Path, Path file) { use(load_topology(file)); }},
    {"newest_checkpoint", "`checkpoints/`",
     [](System&, Path f, Path) { use(newest_checkpoint(run_at(f))); }},
    {"newest_stacks", "`autopsy/`", [](System&, Path f, Path) { use(newest_stacks(f)); }},
    {"owner_of", "`.lock`", [](System&, Path f, Path) { use(owner_of(run_at(f))); }},
    {"read_curve", "`events.jsonl`", [](System&, Path, Path file) { use(read_curve(file, 1000)); }},
    {"read_event_readings", "`events.jsonl`",
     [](System&, Path, Path file) { use(read_event_readings(file, 0)); }},
    {"read_events", "`events.jsonl`",
     [](System&, Path f, Path) { use(read_events(run_at(f), 0, 1 << 20)); }},
    {"read_file", "cluster profile that you name",
     [](System& s, Path, Path file) { use(s.read_file(file)); }},
    {"read_file_text", "`/dev/stdin` and `<(COMMAND)`",
     [](System&, Path, Path file) { use(read_file_text(file)); }},
    {"read_journal", "`supervisor.jsonl`",
     [](System&, Path f, Path) { use(read_journal(run_at(f))); }},
    {"read_log", "`out/`",
     [](System&, Path f, Path) { use(read_log(run_at(f), "n1.log", 0, 1 << 20)); }},
    {"read_metric", "`events.jsonl`",
     [](System&, Path f, Path) { use(read_metric(run_at(f), {}, {})); }},
    {"read_provenance", "`provenance.json`",
     [](System& s, Path f, Path) { use(read_provenance(s, run_at(f))); }},
    {"read_rank_times", "`ranks.csv`",
     [](System&, Path, Path file) { use(read_rank_times(file)); }},
    {"read_run_file", "`plan.json`",
     [](System& s, Path, Path file) { use(read_run_file(s, file, 1 << 20)); }},
    {"read_run_id", "`.run-id`", [](System&, Path f, Path) { use(read_run_id(f)); }},
    {"read_series", "`events.jsonl`", [](System&, Path, Path file) { use(read_series(file)); }},
    {"read_stored_run", "`plan.json`", [](System& s, Path f, Path) { use(read_stored_run(s, f)); }},
    {"read_supervised_run", "`job.yaml`",
     [](System& s, Path f, Path) { use(read_supervised_run(s, f, {})); }},
    {"read_totals", "`events.jsonl`",
     [](System&, Path f, Path) { use(read_totals(run_at(f), 0)); }},
    {"stored_sweep", "`optuna.journal`", [](System& s, Path f, Path) { use(stored_sweep(s, f)); }},
    {"traceback_at_end", "`out/`",
     [](System&, Path f, Path) { use(traceback_at_end(run_at(f), 0)); }},
};

class OddFiles : public testing::TestWithParam<OddFile> {};

TEST_P(OddFiles, EndNoReader) {
  const TemporaryFolder place;
  const auto run = place.path() + "/run";
  const auto file = run + "/other.json";
  for (const auto& path : files_of_a_run()) put_in_place(GetParam(), run + "/" + path);
  for (const auto* of_a_sweep : {"sweep.json", "optuna.journal", "other.json"})
    put_in_place(GetParam(), run + "/" + of_a_sweep);
  PosixSystem system(Console{});
  for (const auto& reader : file_readers)
    EXPECT_EQ(why_not_read([&] { reader.read(system, run, file); }), "") << reader.name;
}

INSTANTIATE_TEST_SUITE_P(Readers, OddFiles, testing::ValuesIn(odd_files_to_put()),
                         [](const auto& row) { return "Kind" + std::to_string(row.index); });

TEST(FileReaders, EveryOneHasARow) {
  std::set<std::string_view> rows;
  for (const auto& reader : file_readers) rows.insert(reader.name);
  // A vendor's library, files of the kernel, git, and of an open file.
  for (const auto* other : {"read_nvml", "read_nvml_states", "read_rocm_smi", "read_sysfs_gpus",
                            "read_amd_states", "read_rapl", "read_code_state", "read_head"})
    rows.insert(other);
  for (const auto* room : {"support", "topology", "runtime", "launcher"})
    for (const auto& name : file_readers_in_headers(room))
      EXPECT_TRUE(rows.contains(name)) << name << "() reads a file: give it a row";
}

TEST(FileReaders, AreInTheTableOfThePage) {
  const auto page = *read_file_text(DLLAUNCH_SOURCE_DIR "/docs/explanation/security.md");
  const auto from = page.find("## What is read");
  ASSERT_NE(from, std::string::npos);
  const auto table = page.substr(from, page.find("\n## ", from) - from);
  for (const auto& reader : file_readers)
    EXPECT_THAT(table, testing::HasSubstr(reader.what)) << reader.name;
  for (const auto& file : run_dir_files())
    EXPECT_THAT(table, testing::HasSubstr(fmt::format("`{}`", file.name)));
}

}  // namespace
}  // namespace dllaunch
