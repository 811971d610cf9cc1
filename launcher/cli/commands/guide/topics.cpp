#include "launcher/cli/commands/guide/topics.hpp"

#include <fmt/format.h>

#include <vector>

#include "launcher/base/exit_code.hpp"
#include "launcher/base/wrapped_lines.hpp"
#include "launcher/cli/command_help.hpp"
#include "launcher/cli/commands/guide/environment_variables.hpp"
#include "launcher/job/job_schema.hpp"
#include "launcher/run/journal_events.hpp"
#include "launcher/run/run_dir_files.hpp"
#include "runtime/rank/run_events.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view binding_text =
    R"(A rank runs fast on CPUs that are near its GPU and that no other rank uses.
dllaunch chooses them for every rank; the shim `dllaunch exec` applies them.

  dllaunch plan JOB.yaml     each rank's node, GPU, CPUs, NUMA node and NIC
  dllaunch topo              the node as a tree
  dllaunch bind              the CPUs of each rank on this node, and why
  dllaunch doctor            whether ranks are bound well, and what to change

Keys of the job file, under binding:
  policy: closest  near the rank's GPU (spread: far from others; none; explicit)
  mode: cores      a fair share of cores (core: one; numa: whole NUMA nodes)
  cores: auto      cores near the GPU only (fill: the others too)
  order: gpu       local rank i drives GPU i (numa: ranks follow NUMA nodes)
  smt: false       true: all hardware threads of a core
  reserve: auto    CPUs left to the system, as the cluster's profile says

A mask is a set of CPUs in hexadecimal: 0xf0 is CPUs 4 to 7. srun takes one per
rank (--cpu-bind=mask_cpu:...); `dllaunch bind --format` serves other launchers.
)";

constexpr std::string_view recovery_text =
    R"(A batch script of dllaunch ends in `dllaunch supervise`, which owns the ranks.
When they end, it restarts them in the same allocation, requeues the job, or
stops.

  a rank died                restart, at most max_restarts times
  the same error twice       stop: it would fail the same way again
  exit code 2 or 93          stop
  no progress                after runtime.stall_abort_seconds: kill, restart
  the time limit is near     ask the ranks to save, requeue
  preempted, a node failed   requeue

Keys of the job file, under recovery: max_restarts, requeue_on, signal,
grace_seconds, preflight, spare_nodes. To turn it off:
  recovery: {max_restarts: 0, requeue_on: []}

Training resumes from the newest checkpoint whose checksums hold. A program of
run: resumes by itself: its run directory is in $DLLAUNCH_RUN_DIR.

  dllaunch status RUN                  restarts, their reasons, and steps lost
  dllaunch cancel RUN                  save a checkpoint, then stop
  dllaunch run RUN                     continue a run that ended
  dllaunch daemon start                resubmit runs while you are logged out
)";

std::string binding() {
  return std::string(binding_text);
}

std::string recovery() {
  return std::string(recovery_text);
}

std::string render_variables(SetBy setter) {
  std::vector<HelpRow> rows;
  for (const EnvironmentVariable& variable : environment_variables()) {
    if (variable.setter != setter) continue;
    std::string setters;
    if (!variable.set_by.empty()) setters = fmt::format("Set by: {}. ", variable.set_by);
    rows.push_back({std::string(variable.name),
                    fmt::format("{}. {}Read by: {}", variable.meaning, setters, variable.read_by)});
  }
  return render_rows(rows);
}

std::string environment() {
  return "Yours to set:\n" + render_variables(SetBy::user) + "\nSet by dllaunch for ranks:\n" +
         render_variables(SetBy::dllaunch) +
         "\nBetween processes of dllaunch, and not yours to set:\n" +
         render_variables(SetBy::dllaunch_for_itself) +
         "\n`framework:` in the job file adds the variables of that framework. Variables of\n"
         "your own: environment: {variables: {NAME: value}}.\n";
}

std::string render_fields(std::span<const EventField> fields) {
  std::vector<HelpRow> rows;
  for (const EventField& field : fields)
    rows.push_back({std::string(field.name), std::string(field.meaning)});
  return render_rows(rows);
}

std::string render_events(std::span<const EventKind> kinds) {
  constexpr std::size_t width = 80;
  std::string text;
  for (const EventKind& kind : kinds) {
    const std::string head = fmt::format("{}: {}.", kind.name, kind.when);
    text += fmt::format("\n{}\n{}", fmt::join(wrapped_lines(head, width), "\n"),
                        render_fields(kind.fields));
  }
  return text;
}

std::string events() {
  return "RUN/events.jsonl says how a training goes: one JSON object a line, appended when\n"
         "something happens. A number that is unknown or not finite is null. Every line\n"
         "has:\n" +
         render_fields(fields_of_all_events()) + render_events(run_events()) +
         "\nRUN/supervisor.jsonl says what `dllaunch supervise` saw and decided. Every line\n"
         "has:\n" +
         render_fields(fields_of_all_journal_events()) + render_events(journal_events());
}

std::string render_files(Keep keep) {
  std::vector<HelpRow> rows;
  for (const RunDirFile& file : run_dir_files()) {
    if (file.keep != keep) continue;
    rows.push_back(
        {std::string(file.name), fmt::format("{}. Written by: {}", file.meaning, file.writer)});
  }
  return render_rows(rows);
}

std::string run_directory() {
  return "A run has a directory, RUN: runs/NAME-DATE-TIME-XXXX where `dllaunch run` was\n"
         "called, or --run-dir DIR. While the run waits or goes on, delete nothing in it.\n"
         "\nTo keep, if `dllaunch run RUN` may continue the run:\n" +
         render_files(Keep::to_continue) +
         "\nRead by status, logs and report; to delete when their answers are not needed:\n" +
         render_files(Keep::to_look_back) + "\nTo delete at any time after the run has ended:\n" +
         render_files(Keep::while_it_runs) +
         "\n* stands for any text. A whole RUN is deleted with rm -r RUN.\n";
}

std::string exit_code_page() {
  std::vector<HelpRow> rows;
  for (const Explanation& code : exit_codes())
    rows.push_back({std::string(code.id),
                    fmt::format("{} {}", std::string(code.meaning), std::string(code.cause))});
  return "Exit codes of dllaunch:\n" + render_rows(rows) +
         "\nA rank's own 2, 3 or 93 passes through `dllaunch run`; any other becomes 1.\n"
         "`dllaunch explain CODE` says what to do.\n";
}

std::string job_file() {
  std::vector<HelpRow> keys;
  for (const auto& [name, schema] : job_schema()["properties"].items()) {
    const std::string_view end = schema.contains("properties") ? ": ..." : ":";
    keys.push_back({fmt::format("{}{}", name, end), schema.value("description", "")});
  }
  return "A job file is YAML. Two keys are enough: name, and one of train: and run:.\n\n"
         "  name: first\n"
         "  train: {model: cnn, dataset: {kind: fashion-mnist}}\n\n"
         "Keys; those with ... hold keys of their own:\n" +
         render_rows(keys) +
         "\nAll keys: dllaunch schema --markdown. Check a file: dllaunch validate JOB.yaml.\n"
         "Change one key for one run: --set train.epochs=5.\n";
}

constexpr Topic topic_table[] = {
    {"binding", "which CPUs and GPU a rank gets, and how to change it", binding},
    {"environment", "environment variables that dllaunch reads and sets", environment},
    {"events", "what events.jsonl and supervisor.jsonl of a run hold", events},
    {"exit-codes", "what the exit codes mean", exit_code_page},
    {"job-file", "the keys of a job file", job_file},
    {"recovery", "what happens when ranks end", recovery},
    {"run-directory", "the files of a run, and which may be deleted", run_directory},
};

}  // namespace

std::span<const Topic> topics() {
  return topic_table;
}

}  // namespace dllaunch
