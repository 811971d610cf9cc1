#include "launcher/report/run_page.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "launcher/accounting/books.hpp"
#include "launcher/base/format.hpp"
#include "launcher/base/secrets.hpp"
#include "launcher/base/shell_quote.hpp"
#include "launcher/base/version.hpp"
#include "launcher/drawing/markup.hpp"
#include "launcher/drawing/node_picture.hpp"
#include "launcher/drawing/number_table.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/postmortem/finalize.hpp"
#include "launcher/report/run_charts.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

/// "2026-11-26 09:43:27 +0100"; empty for 0.
std::string moment(double unix_s) {
  if (!(unix_s > 0) || unix_s > 1e11) return "";
  return fmt::format("{:%Y-%m-%d %H:%M:%S %z}", fmt::localtime(static_cast<std::time_t>(unix_s)));
}

void add_fact(std::string& facts, std::string_view name, const std::string& value,
              std::string_view kind = "") {
  if (value.empty()) return;
  facts += "<div>" + element("span", "", markup(name)) +
           element("b", kind.empty() ? "" : fmt::format("class={}", kind), markup(value)) +
           "</div>\n";
}

std::string formatted(double value, std::string_view form) {
  return std::isnan(value) ? "" : fmt::format(fmt::runtime(form), value);
}

/// "4.2 s", "12:30", "1:02:03"; empty: unknown.
std::string duration(double seconds) {
  if (std::isnan(seconds)) return "";
  return seconds < 60 ? fmt::format("{:.1f} s", seconds) : clock_time(seconds);
}

PageSection overview(const RunForPage& record) {
  const Json& summary = record.run.summary;
  const double seconds = value_at<double>(summary, "seconds", no_number);
  std::string facts;
  const std::string status = value_at<std::string>(summary, "status");
  add_fact(facts, "status", status.empty() ? "not ended" : status,
           status == "completed" ? "good"
           : status.empty()      ? ""
                                 : "bad");
  add_fact(facts, "wall time, without the queue", duration(seconds));
  add_fact(facts, "in the queue", duration(value_at<double>(summary, "queue_seconds", no_number)));
  add_fact(
      facts, "ranks",
      fmt::format("{} on {}", record.run.plan.ranks(), counted(record.run.plan.nodes, "node")));
  add_fact(facts, "as nodes were lost and given", record.places.sizes);
  add_fact(facts, "epochs", formatted(value_at<double>(summary, "epochs", no_number), "{:.0f}"));
  add_fact(facts, "validation accuracy",
           formatted(value_at<double>(summary, "val_accuracy", no_number), "{:.4f}"));
  const double images_per_s = value_at<double>(summary, "images_per_s", no_number);
  add_fact(facts, "images/s", std::isnan(images_per_s) ? "" : rate(images_per_s));
  const double tokens_per_s = value_at<double>(summary, "tokens_per_s", no_number);
  add_fact(facts, "tokens/s", std::isnan(tokens_per_s) ? "" : rate(tokens_per_s));
  add_fact(facts, "validation perplexity",
           formatted(value_at<double>(summary, "val_perplexity", no_number), "{:.4g}"));
  add_fact(facts, "goodput",
           formatted(100 * value_at<double>(summary, "goodput", no_number), "{:.0f} %"));
  add_fact(facts, "restarts",
           formatted(value_at<double>(summary, "restarts", no_number), "{:.0f}"));
  for (const auto& [name, value] : book_words(summary)) add_fact(facts, name, value);
  for (const auto& [name, value] : hour_words(record.so_far))
    add_fact(facts, name + " so far", value);
  std::string words;
  for (const char* key : {"reason", "first_error", "advice"}) {
    const std::string text = value_at<std::string>(summary, key);
    if (!text.empty()) words += element("p", "", markup(without_secrets(text))) + "\n";
  }
  return {.content = "<div class=facts>\n" + facts + "</div>\n" + words};
}

std::string figures(const auto& drawings) {
  std::string all = "<div class=figures>\n";
  for (const auto& one : drawings) all += figure(one.title, draw(one), numbers_of(one));
  return all + "</div>\n";
}

PageSection time_of_ranks(const RunForPage& record) {
  PageSection section{.id = "ranks", .title = "Where the ranks' time went"};
  const auto notes = value_at<Json>(record.series.ranks, "notes");
  for (std::size_t i = 0; notes.is_array() && i < notes.size(); ++i) {
    if (notes[i].is_string())
      section.content +=
          element("p", "", markup(without_secrets(notes[i].get<std::string>()))) + "\n";
  }
  const auto maps = heat_maps_of(record.times);
  if (!maps.empty()) section.content += figures(maps);
  return section;
}

PageSection node(const RunForPage& record) {
  PageSection section{.id = "node", .title = "The node, and who is bound where"};
  const auto& [topology, placement] = record.stored;
  const std::string drawing = draw(topology, placement);
  std::vector<std::vector<std::string>> rows;
  for (const auto& rank : placement.ranks) {
    std::string gpus;
    for (const int position : rank.gpus) {
      const Gpu& gpu = topology.gpus[static_cast<std::size_t>(position)];
      gpus += fmt::format("{}{} {}", gpus.empty() ? "" : ", ", gpu.index, gpu.pci);
    }
    rows.push_back({std::to_string(rank.local_rank), to_list(rank.cpus), to_list(rank.numa), gpus,
                    rank.nic, rank.why});
  }
  if (drawing.empty() && rows.empty()) return section;
  const auto table = html_table({"local rank", "CPUs", "NUMA nodes", "GPU", "NIC", "why"}, rows);
  section.content = drawing.empty()
                        ? "<div class=scroll>" + table + "</div>\n"
                        : "<div class=figures>\n" +
                              figure(counted(std::ssize(placement.ranks), "rank") + " on a node",
                                     drawing, table) +
                              "</div>\n";
  return section;
}

PageSection history(const RunForPage& record) {
  PageSection section{.id = "history", .title = "Restarts"};
  const auto bars = starts_of(record.series);
  if (bars.rows.empty()) return section;
  const History& all = record.series.history;
  section.content = element(
      "p", "",
      fmt::format("{}; {} lost, {:.1f} s of training.", counted(all.restart_count(), "restart"),
                  counted(all.lost_steps(), "step"), all.lost_seconds()));
  section.content += figures(std::vector{bars});
  return section;
}

PageSection stacks(const RunForPage& record) {
  PageSection section{.id = "stacks", .title = "Where the ranks were"};
  if (!record.stacks) return section;
  const auto& kept = *record.stacks;
  if (is_of_hang(kept.kind)) section.title = "Where the ranks hung";
  section.content = element("p", "", markup(moment(kept.time_s))) + "\n" +
                    element("pre", R"(style="white-space: pre-wrap")", markup_lines(kept.text)) +
                    "\n";
  return section;
}

PageSection files(const RunForPage& record) {
  PageSection section{.id = "job", .title = "The job, and how to run it again"};
  const auto& folder = record.run.plan.paths.work_dir;
  const auto enter = folder.empty() ? "" : "cd " + shell_quote(folder) + " && ";
  section.content =
      "<p>This run, from its newest checkpoint if it has one:</p>\n" +
      element("pre", "", markup(record.next)) + "\n<p>A new run of the same job:</p>\n" +
      element("pre", "",
              markup(enter + "dllaunch run " + shell_quote(record.run.dir.path + "/job.yaml"))) +
      "\n";
  if (!record.job_file.empty())
    section.content +=
        "<p>The job file with all defaults. Values of names that look like secrets are left "
        "out.</p>\n" +
        element("pre", "", markup_lines(without_secrets(record.job_file))) + "\n";
  return section;
}

std::string note_of(const RunForPage& record) {
  std::string note = record.run.dir.path;
  const auto add = [&note](const std::string& words) {
    if (!words.empty()) note += "; " + words;
  };
  add(moment(record.run.began_at_s));
  if (!record.places.jobs.empty())
    add(fmt::format("Slurm job {}", fmt::join(record.places.jobs, ", ")));
  add(record.places.nodes.empty() ? "" : "on " + record.places.nodes);
  add(record.places.network);
  if (record.series.start) add(record.series.start->model);
  add(fmt::format("dllaunch {}", version()));
  return note;
}

}  // namespace

RunForPage read_run_for_page(System& system, StoredRun run) {
  constexpr std::size_t most_bytes = 4 << 20;
  RunForPage record;
  record.run = std::move(run);
  const RunDir& dir = record.run.dir;
  record.places = places_of(record.run);
  record.series = read_series(dir.events());
  record.times = read_rank_times(dir.path + "/ranks.csv");
  if (const auto plan = read_run_file(system, dir.plan_json(), most_bytes))
    record.stored = stored_placement(json_object_in(*plan));
  if (auto job = read_run_file(system, dir.job_yaml(), most_bytes))
    record.job_file = *std::move(job);
  record.stacks = newest_stacks(dir.path);
  record.next = command_to_go_on(system, dir);
  return record;
}

Page run_page(const RunForPage& record) {
  const auto curves = curves_of(record.series);
  const auto gpus = gpu_charts_of(record.series);
  std::vector<PageSection> sections = {
      overview(record),
      {.id = "curves", .title = "Curves", .content = curves.empty() ? "" : figures(curves)},
      time_of_ranks(record),
      node(record),
      {.id = "gpus", .title = "GPUs", .content = gpus.empty() ? "" : figures(gpus)},
      history(record),
      stacks(record),
      files(record)};
  std::erase_if(sections, [](const PageSection& one) { return one.content.empty(); });
  return {.title = record.run.plan.name.empty() ? "A run" : record.run.plan.name,
          .note = note_of(record),
          .sections = std::move(sections)};
}

}  // namespace dllaunch
