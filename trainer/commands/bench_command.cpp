#include "trainer/commands/bench_command.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/core.h>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/hierarchical/hierarchical.hpp"
#include "runtime/communicators/host/transports.hpp"
#include "runtime/communicators/opening/communicators.hpp"
#include "support/parse_number.hpp"
#include "trainer/commands/allreduce_levels.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 40;
constexpr std::size_t most_iterations = 1'000'000;

Result<std::size_t> number(const std::string& text, std::string_view name, std::size_t least,
                           std::size_t most) {
  const auto value = parse_number<std::size_t>(text);
  if (value && *value >= least && *value <= most) return *value;
  return Error{ErrorKind::bad_request,
               fmt::format("{} is \"{}\", not a number from {} to {}", name, text, least, most),
               ""};
}

/// Parses "4,8,64".
Result<std::vector<int>> numbers_of_nodes(const std::string& text) {
  constexpr std::size_t most_nodes = 1'000'000;
  std::vector<int> nodes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    auto one = number(text.substr(begin, end - begin), "NODES", 2, most_nodes);
    if (!one) return std::move(one).error();
    nodes.push_back(static_cast<int>(*one));
    begin = end + 1;
  }
  return nodes;
}

void say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);  // one size can take seconds
}

/// Rank 0's output: a table, or one JSON array.
class Report {
 public:
  Report(const BenchCommand& command, const Communicator& communicator)
      : json_(command.json), speaks_(communicator.rank() == 0) {
    text(fmt::format("all-reduce: {}, {} {}; sum in place, both waits inside\n",
                     communicator.name(), communicator.size(),
                     communicator.size() == 1 ? "rank" : "ranks"));
    text(all_reduce_table_head());
  }
  void text(std::string_view line) const {
    if (speaks_ && !json_) say(line);
  }
  void row(const AllReduceRow& row) {
    if (!speaks_) return;
    if (!json_) return say(to_table_line(row));
    if (!row_.empty()) say(row_ + ",\n ");
    row_ = (row_.empty() ? "[" : "") + to_json(row);
  }
  /// The lines of a table; in JSON, "models" of the last row.
  void levels(const Levels& levels) {
    text(describe_levels(levels));
    if (row_.empty()) return;
    row_.pop_back();
    row_ += fmt::format(R"(, "nodes": {}, "models": {}}})", levels.shape.nodes, links_json(levels));
  }
  void end() const {
    if (speaks_ && json_) say(row_ + "]\n");
  }

 private:
  bool json_;
  bool speaks_;
  std::string row_;  // the last row in JSON, not said yet
};

/// Collective. Measures the ranks of a node alone, if the communicator has that level.
Result<std::vector<AllReduceRow>> measure_within_node(const Levels& levels,
                                                      const BenchCommand& command,
                                                      const RankEnv& env) {
  std::vector<AllReduceRow> rows;
  const bool is_a_part = levels.rows.front().communicator == "hierarchical" &&
                         levels.shape.nodes > 1 && levels.shape.ranks > 1;
  if (!is_a_part) return rows;
  auto world = open_peers(env);
  if (!world) return std::move(world).error();
  auto node = open_hierarchical((*world)->on_this_node());
  if (!node) return std::move(node).error();
  measure_all_reduce(**node, command.bench, [&](const AllReduceRow& row) { rows.push_back(row); });
  return rows;
}

}  // namespace

Result<BenchCommand> parse_bench(const std::vector<std::string>& words) {
  const bool known = words.size() == 5 || words.size() == 6;
  if (!known || (words[4] != "table" && words[4] != "json")) {
    return Error{ErrorKind::bad_request,
                 "expected COMMUNICATOR MIN_BYTES MAX_BYTES ITERATIONS table|json [NODES,...]",
                 "dllaunch bench allreduce"};
  }
  BenchCommand command{.communicator = words[0], .bench = {}, .json = words[4] == "json"};
  auto least = number(words[1], "MIN_BYTES", sizeof(float), most_bytes);
  if (!least) return std::move(least).error();
  auto most = number(words[2], "MAX_BYTES", *least, most_bytes);
  if (!most) return std::move(most).error();
  auto iterations = number(words[3], "ITERATIONS", 1, most_iterations);
  if (!iterations) return std::move(iterations).error();
  if (*least % sizeof(float) != 0) {
    return Error{
        ErrorKind::bad_request,
        fmt::format("MIN_BYTES is {}, but must be a multiple of 4: an fp32 value has 4 bytes",
                    *least),
        ""};
  }
  command.bench = {*least, *most, static_cast<int>(*iterations)};
  if (words.size() == 5) return command;
  auto nodes = numbers_of_nodes(words[5]);
  if (!nodes) return std::move(nodes).error();
  command.project = *std::move(nodes);
  return command;
}

Result<bool> run_bench(const BenchCommand& command, const RankEnv& env) {
  auto opened = open_communicator(command.communicator, env);
  if (!opened) return std::move(opened).error();
  Communicator& communicator = **opened;
  Report report(command, communicator);
  Levels levels;
  bool correct = true;
  measure_all_reduce(communicator, command.bench, [&](const AllReduceRow& row) {
    correct = correct && row.correct;
    levels.rows.push_back(row);
    report.row(row);
  });
  const auto shape = shape_of(communicator);
  if (shape) {
    levels.shape = *shape;
    auto within = measure_within_node(levels, command, env);
    if (!within) return std::move(within).error();
    levels.within_node = *std::move(within);
    report.levels(levels);
  }
  for (const int nodes : command.project) {
    const auto rows = shape ? project(levels, nodes) : std::vector<AllReduceRow>();
    report.text(fmt::format("{} nodes of {}{}\n", nodes, shape ? shape->ranks : 1,
                            rows.empty()
                                ? ": unknown; measure on two nodes or more, three sizes or "
                                  "more, with hierarchical, ring or parameter-server"
                                : ""));
    for (const AllReduceRow& row : rows) report.row(row);
  }
  report.end();
  return correct;
}

}  // namespace dllaunch
