// Tests must not depend on how fast a machine is. Two patterns that did, found in the text of
// tests: bounds of a few seconds on what a clock says, and trainings of so many steps that are to
// be there when something is done to them.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path root = DLLAUNCH_SOURCE_DIR;

using Exceptions = std::map<std::string, std::string>;  // path -> reason

struct TestSource {
  std::string path;
  std::string text;

  std::string place(std::size_t at) const {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(at);
    return path + ":" + std::to_string(1 + std::count(text.begin(), end, '\n'));
  }
};

std::vector<TestSource> test_sources() {
  std::vector<TestSource> found;
  for (const auto& entry : fs::recursive_directory_iterator(root / "tests")) {
    const auto extension = entry.path().extension();
    if (extension != ".cpp" && extension != ".hpp") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    found.push_back({fs::relative(entry.path(), root).generic_string(), text.str()});
  }
  return found;
}

/// Calls take(position, match).
template <typename Take>
void each_match(const TestSource& source, const std::regex& pattern, Take take) {
  for (std::sregex_iterator at(source.text.begin(), source.text.end(), pattern), end; at != end;
       ++at)
    take(static_cast<std::size_t>(at->position()), *at);
}

double number_in(std::string text) {
  std::erase(text, '\'');
  return text.empty() ? 0 : std::stod(text);
}

const Exceptions bounded_durations = {
    {"tests/end_to_end/stall_test.cpp", "a lower bound: runtime.stall_seconds"},
    {"tests/launcher/job_file_fuzz_test.cpp", "a hang, in processor time"},
    {"tests/launcher/plan/plan_test.cpp", "a promise of the product, in processor time"},
    {"tests/launcher/rank/rendezvous/rendezvous_server_test.cpp",
     "the product's patience with silent visitors is 10 s: they must go before"},
    {"tests/launcher/supervise/attempt_watch_test.cpp",
     "lower bounds: the product's own pauses; upper: the end of the allocation, which it must "
     "meet"},
    {"tests/launcher/supervise/stage_holder_test.cpp", "a lower bound: a pause of the test's own"},
    {"tests/runtime/gradients/bucket_tuner_test.cpp", "a clock that is played"},
    {"tests/runtime/watchdog/watch_test.cpp", "a lower bound: the stall limit"},
    {"tests/support/network/sockets_test.cpp", "a lower bound: the call's deadline"},
    {"tests/trainer/checkpoints/checkpoint_writer_test.cpp",
     "lower bounds: checkpoint.mb_per_s holds it up"},
};

/// A bound on a duration is the patience before a hang is believed, 20 s and more, or it stands in
/// the list.
TEST(SpeedRules, NoDurationIsComparedWithAFewSeconds) {
  // Up to the last argument, a literal.
  static const std::regex comparison(
      R"((?:EXPECT|ASSERT)_([GL])[ET]\(([^;]*?\b(?:now\(\) - |seconds_since\w*\(|took\b|elapsed|)"
      R"(seconds\b|cpu_s\b|clock\(\))[^;]*?),\s*)"
      R"((?:(?:std::chrono::)?(milliseconds|seconds)\(([\d.']+)\)|([\d.']+)(ms|s)?))"
      R"((?:\s*\*\s*\w+)?\)\s*(?:;|<<))");
  Exceptions unused = bounded_durations;
  for (const auto& source : test_sources()) {
    each_match(source, comparison, [&](std::size_t at, const std::smatch& match) {
      const bool upper = match[1] == "L";
      const bool milli = match[3] == "milliseconds" || match[6] == "ms";
      const double bound = (number_in(match[4]) + number_in(match[5])) / (milli ? 1000 : 1);
      if (bound == 0 || (upper && bound >= 20)) return;
      unused.erase(source.path);
      EXPECT_TRUE(bounded_durations.contains(source.path))
          << source.place(at) << ": " << match[0]
          << "\nwait for an event with a generous deadline, or give the reason in the list";
    });
  }
  for (const auto& [path, reason] : unused) ADD_FAILURE() << path << " needs no exception";
}

/// Job texts before the tests of a file; in a test there is no exception.
const Exceptions trainings_with_an_end = {
    {"tests/end_to_end/local_run.hpp", "long_run_ has a thousand epochs, where it is hurt"},
    {"tests/end_to_end/slurm_run_test.cpp", "long_run_ has a thousand epochs, where it is hurt"},
    {"tests/end_to_end/timeline_test.cpp", "`endless` where signals come"},
    {"tests/trainer/training/batch_norm_on_ranks_test.cpp", "those that are hurt set their own"},
    {"tests/trainer/training/ranks_test.cpp", "those that are hurt set their own"},
    {"tests/trainer/training/storage_faults_test.cpp", "those that are hurt set their own"},
};

/// A training that something is done to lasts until it was: it has a million epochs and the test
/// ends it, or, where it has to complete, epochs_of_seconds(). Twenty epochs are over on a fast
/// machine before the test has seen the first.
TEST(SpeedRules, ATrainingThatIsWaitedForDoesNotEndAfterSomeSteps) {
  static const std::regex begins(R"(\n(?:TEST|TEST_F|TEST_P)\()");
  static const std::regex in_background(
      R"(\.start\(|->start\(|\bstart_\w+\(|RunningProgram \w+\()");
  static const std::regex waits(
      R"(\b(?:happens_within|wait_for|wait_until|usleep|sleep|sleep_for|kill)\(|[.>]signal\()");
  static const std::regex steps(R"(\b(?:max_steps|epochs)\b["'\]:= {]{1,9}([\d']+))");
  Exceptions unused = trainings_with_an_end;
  for (const auto& source : test_sources()) {
    if (source.path.starts_with("tests/fuzz/") || source.path == "tests/speed_rules_test.cpp")
      continue;
    std::vector<std::size_t> borders = {0};
    each_match(source, begins, [&](std::size_t at, const auto&) { borders.push_back(at); });
    borders.push_back(source.text.size());
    const auto is_hurt = [&](std::size_t i) {
      const auto body = source.text.substr(borders[i], borders[i + 1] - borders[i]);
      return std::regex_search(body, in_background) && std::regex_search(body, waits);
    };
    std::vector<bool> hurt(borders.size() - 1);
    for (std::size_t i = 0; i + 1 < borders.size(); ++i) hurt[i] = is_hurt(i);
    // What stands before the tests is for all of them.
    hurt[0] = std::ranges::find(hurt, true) != hurt.end();
    each_match(source, steps, [&](std::size_t at, const std::smatch& match) {
      const auto body = std::ranges::upper_bound(borders, at) - borders.begin() - 1;
      const double count = number_in(match[1]);
      if (!hurt[static_cast<std::size_t>(body)] || count < 2 || count >= 1000) return;
      unused.erase(source.path);
      EXPECT_TRUE(body == 0 && trainings_with_an_end.contains(source.path))
          << source.place(at) << ": " << match[0]
          << "\nlet it train until the test ends it, or for epochs_of_seconds()";
    });
  }
  for (const auto& [path, reason] : unused) ADD_FAILURE() << path << " needs no exception";
}

}  // namespace
