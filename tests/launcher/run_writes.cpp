// What run_durability_test.cpp records: what `dllaunch run`, a supervisor and the daemon write down
// of a run. Its Slurm accepts every job. Records what was reported to users.

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "launcher/daemon/store.hpp"
#include "launcher/daemon/submitter.hpp"
#include "launcher/job/job_file.hpp"
#include "launcher/launch/slurm.hpp"
#include "launcher/monitor/follow.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/run/run_files.hpp"
#include "support/json.hpp"
#include "tests/launcher/disk_system.hpp"

namespace dllaunch {
namespace {

using Note = void (*)(const char*);

/// Job numbers count from 1.
class TakingSlurm : public DiskSystem {
 public:
  explicit TakingSlurm(Note tell) : tell_(tell) {
    programs = {"sbatch", "squeue", "sacct"};
    respond = [this](const std::vector<std::string>& argv) { return answer(argv); };
  }

 private:
  std::optional<Result<CommandOutput>> answer(const std::vector<std::string>& argv) {
    if (argv[0] != "sbatch") return Result<CommandOutput>(CommandOutput{});
    const std::string comment = "--comment=";
    for (const auto& word : argv) {
      if (word.starts_with(comment))
        tell_(("submitted " + std::to_string(++last_) + " " + token_in(word)).c_str());
    }
    return Result<CommandOutput>(CommandOutput{0, std::to_string(last_) + "\n", ""});
  }
  Note tell_;
  int last_ = 0;
};

int write_journal(const RunDir& run, Note note) {
  reserve_journal(run);
  for (int i = 1; i <= 6; ++i) {
    const auto job = std::to_string(i);
    if (!append_to_journal(run, line_of(JournalAttempt{.time = 1.0 * i, .job = job}))) return 1;
    note(job.c_str());
  }
  if (!mark_finished(run, "6")) return 1;
  note("finished");
  return 0;
}

int submit_by_hand(const RunDir& run, Note note) {
  TakingSlurm system(note);
  LaunchPlan plan;
  plan.launcher = Launcher::slurm;
  plan.name = "x";
  plan.ranks_per_node = 2;
  for (const char* epochs : {"1", "2", "3"}) {
    const std::vector<std::string> sets = {std::string("train.epochs=") + epochs};
    const auto parsed = parse_job(
        "name: x\nresources: {ranks_per_node: 2, time: 00:30:00}\n"
        "train: {model: cnn, dataset: {kind: synthetic}, batch_size: 8}\n",
        "x.yaml", sets);
    if (!parsed.job) return 1;
    plan.train_json = parsed.job->train.dump() + "\n";
    if (!write_run_files(run, *parsed.job, plan)) return 1;
    Follower follower(system, run, {});
    if (!execute_slurm(plan, run, follower, system, {.detach = true})) return 1;
    note((std::string("told ") + epochs).c_str());
  }
  return 0;
}

int submit_by_daemon(const RunDir& run, Note note) {
  TakingSlurm system(note);
  const auto folder = std::filesystem::path(run.path).parent_path().string();
  auto store = Store::open(folder + "/store.db", 1);
  if (!store || !write_file(run.sbatch_script(), "#!/bin/bash\ntrue\n") ||
      !write_file(run.job_id(), "0\n") || !sync_folder(run.path))
    return 1;
  RunRecord record{.dir = run.path, .name = "r", .launcher = "slurm", .state = "timeout"};
  record.job_id = "0";
  const auto id = (*store)->save(record);
  if (!id) return 1;
  record.id = *id;
  note("known");
  const TemporaryFolder locks;
  Submitter submitter(system, **store, {.folder = locks.path()}, 20);
  for (int i = 1; i <= 3; ++i) {
    if (!submitter.submit(record, record, {"a node failed"}, 100.0 * i)) return 1;
    note(("told " + record.job_id).c_str());
    record.state = "timeout";
  }
  return 0;
}

}  // namespace
}  // namespace dllaunch

int main(int argc, char** argv) {
  using namespace dllaunch;
  const auto note = reinterpret_cast<Note>(dlsym(RTLD_DEFAULT, "dllaunch_record_note"));
  if (argc != 3 || note == nullptr) return 2;
  const auto run = make_run_dir(std::string(argv[2]) + "/runs/run");
  if (!run) return 1;
  note("made");
  const std::string what = argv[1];
  if (what == "journal") return write_journal(*run, note);
  return what == "run" ? submit_by_hand(*run, note) : submit_by_daemon(*run, note);
}
