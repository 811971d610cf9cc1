#include "trainer/bench_command.hpp"

#include <charconv>
#include <cstdio>

#include <fmt/format.h>

#include "runtime/communicator.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 40;
constexpr std::size_t most_iterations = 1'000'000;

Result<std::size_t> number(const std::string& text, std::string_view name, std::size_t least,
                           std::size_t most) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (whole && value >= least && value <= most) return value;
  return Error{ErrorKind::bad_request,
               fmt::format("{} is \"{}\", not a number from {} to {}", name, text, least, most),
               ""};
}

void say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);  // one size can take seconds
}

}  // namespace

Result<BenchCommand> parse_bench(const std::vector<std::string>& words) {
  if (words.size() != 5 || (words[4] != "table" && words[4] != "json")) {
    return Error{ErrorKind::bad_request,
                 "expected COMMUNICATOR MIN_BYTES MAX_BYTES ITERATIONS table|json",
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
    return Error{ErrorKind::bad_request,
                 fmt::format("MIN_BYTES is {}, not a multiple of 4: fp32 is reduced", *least), ""};
  }
  command.bench = {*least, *most, static_cast<int>(*iterations)};
  return command;
}

Result<bool> run_bench(const BenchCommand& command, const RankEnv& env) {
  auto opened = open_communicator(command.communicator, env);
  if (!opened) return std::move(opened).error();
  Communicator& communicator = **opened;
  const bool speaks = communicator.rank() == 0;
  if (speaks && !command.json) {
    say(fmt::format("all-reduce: {}, {} {}; sum in place, both waits inside\n", communicator.name(),
                    communicator.size(), communicator.size() == 1 ? "rank" : "ranks"));
    say(all_reduce_table_head());
  }
  bool correct = true;
  bool first = true;
  measure_all_reduce(communicator, command.bench, [&](const AllReduceRow& row) {
    correct = correct && row.correct;
    if (!speaks) return;
    if (!command.json) return say(to_table_line(row));
    say((first ? "[" : ",\n ") + to_json(row));
    first = false;
  });
  if (speaks && command.json) say("]\n");
  return correct;
}

}  // namespace dllaunch
