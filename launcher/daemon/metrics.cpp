#include "launcher/daemon/metrics.hpp"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "launcher/base/utf8.hpp"

namespace dllaunch {
namespace {

void add(std::string& text, std::string_view name, std::string_view kind, std::string_view help,
         double value) {
  text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, kind, value);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

void add_runs(std::string& text, const Snapshot& snapshot) {
  struct Figure {
    std::string_view name;
    std::string_view help;
    double (*value)(const RunRecord&);
  };
  static constexpr Figure figures[] = {
      {"dllaunch_run_step", "Optimiser steps so far.",
       [](const RunRecord& run) { return static_cast<double>(run.step); }},
      {"dllaunch_run_epoch", "Current epoch.",
       [](const RunRecord& run) { return static_cast<double>(run.epoch); }},
      {"dllaunch_run_loss", "Loss of the last reported step.",
       [](const RunRecord& run) { return run.loss; }},
      {"dllaunch_run_images_per_second", "Images per second of wall time, all ranks.",
       [](const RunRecord& run) { return run.images_per_s; }}};
  for (const auto& figure : figures) {
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", figure.name, figure.help);
    for (const auto& run : snapshot.live) {
      if (run.state != "running" || run.step == 0) continue;
      text += fmt::format("{}{{run=\"{}\",id=\"{}\"}} {}\n", figure.name,
                          label_text(printable(run.name)), run.id, figure.value(run));
    }
  }
}

}  // namespace

std::string label_text(std::string_view value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return escaped;
}

ProcessFigures process_figures(double began_s, double now_s) {
  ProcessFigures figures{.uptime_s = now_s - began_s};
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    if (getrusage(who, &usage) == 0)
      figures.cpu_s += seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  if (std::FILE* file = std::fopen("/proc/self/statm", "re"); file != nullptr) {
    unsigned long all = 0;
    unsigned long resident = 0;
    if (std::fscanf(file, "%lu %lu", &all, &resident) == 2)
      figures.resident_bytes = resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    std::fclose(file);
  }
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
       at.increment(error))
    ++figures.open_files;
  return figures;
}

std::string render_metrics(const Snapshot& snapshot, const std::vector<Store::Count>& counts,
                           const ProcessFigures& process) {
  std::string text = "# HELP dllaunch_runs Runs known, by state.\n# TYPE dllaunch_runs gauge\n";
  for (const auto& [state, runs] : counts)
    text += fmt::format("dllaunch_runs{{state=\"{}\"}} {}\n", label_text(state), runs);
  const auto& slurm = snapshot.slurm;
  add(text, "dllaunch_live_runs", "gauge", "Runs that have not ended.",
      static_cast<double>(snapshot.live.size()));
  add(text, "dllaunch_submissions_total", "counter", "Jobs submitted again by this daemon.",
      static_cast<double>(snapshot.submissions));
  add(text, "dllaunch_rounds_total", "counter", "Rounds over all runs.",
      static_cast<double>(snapshot.rounds));
  add(text, "dllaunch_slurm_questions_total", "counter", "Calls of squeue for all runs.",
      static_cast<double>(slurm.questions));
  add(text, "dllaunch_slurm_errors_total", "counter", "Calls of squeue without an answer.",
      static_cast<double>(slurm.errors));
  add(text, "dllaunch_slurm_up", "gauge", "1 if Slurm answered the last call, else 0.",
      slurm.answers ? 1 : 0);
  add(text, "dllaunch_slurm_answer_seconds", "gauge", "Seconds that Slurm's last answer took.",
      slurm.answer_s);
  add(text, "dllaunch_last_round_timestamp_seconds", "gauge", "Unix time of the last round.",
      snapshot.at_s);
  add(text, "process_uptime_seconds", "gauge", "Seconds since the daemon started.",
      process.uptime_s);
  add(text, "process_cpu_seconds_total", "counter",
      "Processor time of the daemon, and of the commands it ran.", process.cpu_s);
  add(text, "process_resident_memory_bytes", "gauge", "Memory of the daemon.",
      static_cast<double>(process.resident_bytes));
  add(text, "process_open_fds", "gauge", "Open files of the daemon.", process.open_files);
  add_runs(text, snapshot);
  return text;
}

}  // namespace dllaunch
