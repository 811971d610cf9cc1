#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "launcher/base/format.hpp"
#include "launcher/base/table.hpp"
#include "launcher/queue/soonest.hpp"
#include "launcher/slurm/slurm_time.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

/// "2026-11-26 20:15".
std::string moment(double unix_s) {
  auto text = slurm_time(unix_s);
  std::ranges::replace(text, 'T', ' ');
  return text.substr(0, text.rfind(':'));
}

std::string limit_words(const Shape& shape) {
  auto text = clock_time(shape.limit_minutes * 60.0);
  if (shape.least_minutes) text = clock_time(*shape.least_minutes * 60.0) + " to " + text;
  return shape.slices == 1 ? text : fmt::format("{} x {}", shape.slices, text);
}

bool is_marked(const Forecast& one) {
  return one.by_backfill() && one.slurm_s;
}

std::string why(const Forecast& one) {
  std::string text = one.shape.as_written() ? "as written"
                     : one.shape.other_qos  ? "not by --soonest"
                                            : "";
  if (!is_marked(one)) return text;
  return text + (text.empty() ? "" : ", ") + "if backfilled";
}

TableRow row_of(const Forecast& one, const Soonest& soonest) {
  const auto& shape = one.shape;
  return {moment(one.start_s),
          "in " + clock_time(one.start_s - soonest.now_s),
          moment(one.finish_s),
          fmt::format("{} x {}", shape.nodes, shape.ranks_per_node),
          shape.batch_per_rank ? std::to_string(*shape.batch_per_rank) : "-",
          limit_words(shape),
          shape.partition.empty() ? "-" : shape.partition,
          shape.qos.empty() ? "-" : shape.qos,
          fmt::format("{:.2f}", one.node_hours),
          why(one)};
}

Json json_of(const Forecast& one) {
  const auto& shape = one.shape;
  return {{"start", one.start_s},
          {"finish", one.finish_s},
          {"slurm_start", one.slurm_s ? Json(*one.slurm_s) : Json()},
          {"backfill_start", one.gap_s ? Json(*one.gap_s) : Json()},
          {"nodes", shape.nodes},
          {"ranks_per_node", shape.ranks_per_node},
          {"batch_per_rank", shape.batch_per_rank ? Json(*shape.batch_per_rank) : Json()},
          {"limit_minutes", shape.limit_minutes},
          {"least_minutes", shape.least_minutes ? Json(*shape.least_minutes) : Json()},
          {"slices", shape.slices},
          {"partition", or_null(shape.partition)},
          {"qos", or_null(shape.qos)},
          {"other_qos", shape.other_qos},
          {"run_seconds", shape.run_s},
          {"node_hours", one.node_hours},
          {"as_written", shape.as_written()},
          {"sets", shape.sets}};
}

}  // namespace

std::string render_soonest(const Soonest& soonest) {
  std::vector<TableRow> rows = {{"start", "", "finish", "nodes x ranks", "batch", "time limit",
                                 "partition", "QOS", "node-hours", ""}};
  for (const Forecast& one : soonest.ranked) rows.push_back(row_of(one, soonest));
  std::string text = table_text(rows);
  text += fmt::format("  time      {}\n", source_of(soonest.work));
  text += fmt::format("  estimate  {}\n", words_of(soonest.worth));
  if (std::ranges::any_of(soonest.ranked, is_marked))
    text +=
        "            \"if backfilled\": it fits in before what waits now; Slurm itself puts it "
        "behind that\n";
  if (!soonest.knows_queue)
    text += fmt::format("            without backfill: {}\n", soonest.why_no_queue);
  text += fmt::format(
      "  asked     {} of sbatch in {:.1f} s{}{}{}{}\n", counted(soonest.tests, "call"),
      soonest.test_seconds,
      soonest.silent > 0 ? fmt::format("; {} without an answer", soonest.silent) : "",
      soonest.left_out > 0 ? fmt::format("; {} not asked for", counted(soonest.left_out, "shape"))
                           : "",
      soonest.without_start > 0
          ? fmt::format("; no start known of {}", counted(soonest.without_start, "shape"))
          : "",
      soonest.refused.empty()
          ? ""
          : fmt::format("; {} refused", counted(soonest.refused.size(), "shape")));
  for (const auto& refused : soonest.refused) text += "            refused: " + refused + "\n";
  return text;
}

Json to_json(const Soonest& soonest) {
  Json shapes = Json::array();
  for (const Forecast& one : soonest.ranked) shapes.push_back(json_of(one));
  const auto& worth = soonest.worth;
  return {{"now", soonest.now_s},
          {"shapes", std::move(shapes)},
          {"time_from", source_of(soonest.work)},
          {"measured", soonest.work.measured()},
          {"estimates",
           {{"runs", worth.runs},
            {"median_off_s", worth.runs > 0 ? Json(worth.median_off_s) : Json()},
            {"worst_off_s", worth.runs > 0 ? Json(worth.worst_off_s) : Json()},
            {"earlier", worth.earlier},
            {"later", worth.later}}},
          {"backfill_known", soonest.knows_queue},
          {"sbatch_calls", soonest.tests},
          {"without_answer", soonest.silent},
          {"seconds", soonest.test_seconds},
          {"not_asked", soonest.left_out},
          {"without_start", soonest.without_start},
          {"refused", soonest.refused}};
}

std::string choice_of(const Soonest& soonest, const Forecast& best) {
  auto text = fmt::format("{}: start estimated at {}{}, finish at {}", words_of(best.shape),
                          moment(best.start_s), best.by_backfill() ? " if backfilled" : "",
                          moment(best.finish_s));
  const auto own = std::ranges::find_if(soonest.ranked,
                                        [](const Forecast& one) { return one.shape.as_written(); });
  if (best.shape.as_written()) return text + "; the job as written finishes first";
  if (own != soonest.ranked.end())
    text += fmt::format(", {} before the job as written",
                        clock_time(std::max(0.0, own->finish_s - best.finish_s)));
  return text;
}

}  // namespace dllaunch
