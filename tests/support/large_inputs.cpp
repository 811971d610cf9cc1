#include "tests/support/large_inputs.hpp"

#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

/// Each is what some format repeats, nests or counts with.
constexpr std::string_view tokens[] = {
    "a",  "0", " ",    "\n", ",",  "\"",  "[",       "{",   "(", "<",    "-",   "\\",    "a,",
    "1,", ":", "a=1 ", "$(", "- ", "[1]", "{\"a\":", "<a>", "'", "a:\n", "0\n", "a[1-9]"};

constexpr int memory_exit = 77;

/// Three seconds, for a machine three times slower than one on which it takes one.
constexpr int most_reading_s = 3;

constexpr std::size_t most_reading_bytes = 100'000'000;

struct Sample {
  std::string head;
  std::string item;
  std::string tail;

  explicit Sample(std::string_view text) {
    const auto first = text.find('|');
    const auto last = text.rfind('|');
    if (first == last) {
      item = text.empty() ? "a1 " : text;
      return;
    }
    head = text.substr(0, first);
    item = text.substr(first + 1, last - first - 1);
    tail = text.substr(last + 1);
  }

  /// The item with `number` in place of the numbers in it.
  std::string item_of(std::size_t number) const {
    std::string made;
    for (std::size_t i = 0; i < item.size(); ++i) {
      const bool digit = std::isdigit(static_cast<unsigned char>(item[i])) != 0;
      const bool goes_on = i > 0 && std::isdigit(static_cast<unsigned char>(item[i - 1])) != 0;
      if (!digit) made += item[i];
      if (digit && !goes_on) made += std::to_string(number);
    }
    return made;
  }
};

struct LargeInput {
  std::string words;
  std::string text;
};

std::size_t count_of_inputs() {
  return 2 + 2 * std::size(tokens);
}

LargeInput large_input(const Sample& sample, std::size_t which, std::size_t bytes) {
  std::string text = sample.head;
  if (which < 2) {
    for (std::size_t i = 0; text.size() < bytes; ++i)
      text += which == 0 ? sample.item_of(1000 + i) : sample.item;
    return {which == 0 ? "items that differ" : "items alike", text + sample.tail};
  }
  const auto token = tokens[(which - 2) / 2];
  const bool inside = which % 2 == 0;
  const auto half = inside ? sample.item.size() / 2 : 0;
  text += sample.item.substr(0, half);
  while (text.size() < bytes) text += token;
  if (inside) text += sample.item.substr(half);
  return {fmt::format("'{}' repeated {}", token, inside ? "within an item" : "instead of items"),
          text + sample.tail};
}

std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

/// In the child: reads the inputs from `at` on, which says where it is.
[[noreturn]] void read_all(const SizedReader& reader, std::size_t bytes, std::size_t& at) {
  std::set_new_handler([] { _exit(memory_exit); });
  const Sample sample(reader.sample);
  for (; at < count_of_inputs(); ++at) {
    const auto input = large_input(sample, at, bytes);
    const auto memory = static_cast<rlim_t>(mapped_bytes() + most_reading_bytes);
    const rlimit most{.rlim_cur = memory, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &most);
    const auto seconds = static_cast<rlim_t>(cpu_seconds() + most_reading_s + 1);
    const rlimit until{.rlim_cur = seconds, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_CPU, &until);
    reader.read(input.text);
    const rlimit any{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &any);
  }
  _exit(0);
}

std::string words_of_end(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == memory_exit)
    return fmt::format("{} MB of memory are not enough", most_reading_bytes / 1'000'000);
  if (WIFEXITED(status)) return fmt::format("it ends the process: {}", WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGXCPU) return fmt::format("{} s of CPU are not enough", most_reading_s);
  return fmt::format("it is ended by {}", strsignal(WTERMSIG(status)));
}

}  // namespace

std::vector<std::string> inputs_too_large_for(const SizedReader& reader) {
  const std::size_t bytes = full_tier() ? 10'000'000 : 1'000'000;
  auto* const at = static_cast<std::size_t*>(mmap(
      nullptr, sizeof(std::size_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (at == MAP_FAILED) return {"no memory to share"};
  std::vector<std::string> too_large;
  for (*at = 0; *at < count_of_inputs(); ++*at) {
    const pid_t child = fork();
    if (child == 0) read_all(reader, bytes, *at);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return {"no process to read in"};
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    too_large.push_back(large_input(Sample(reader.sample), *at, 0).words + ": " +
                        words_of_end(status));
  }
  munmap(at, sizeof(std::size_t));
  return too_large;
}

namespace {

/// The functions of the room's headers that `form` finds, without those whose parameter is unfit.
std::vector<std::string> functions_in_headers(const std::string& room, const std::regex& form,
                                              const std::function<bool(const std::string&)>& fits) {
  std::set<std::string> names;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(DLLAUNCH_SOURCE_DIR + ("/" + room))) {
    if (entry.path().extension() != ".hpp") continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (line.find("//") != std::string::npos || line.find("return ") != std::string::npos)
        continue;
      std::smatch found;
      if (std::regex_search(line, found, form) && fits(found[2])) names.insert(found[1]);
    }
  }
  return {names.begin(), names.end()};
}

const std::set<std::string> of_files = {"path", "dir",         "folder",        "file",
                                        "spec", "root",        "run",           "run_dir",
                                        "name", "events_path", "step_directory"};

}  // namespace

std::vector<std::string> readers_in_headers(const std::string& room) {
  static const std::regex reader(
      R"(\b((?:parse|read|expand|convert)_\w+|lint|\w+_in|\w+_from|\w+_from_\w+)\()"
      R"((?:std::string_view|const std::string&)\s+(\w+))");
  return functions_in_headers(room, reader,
                              [](const std::string& name) { return !of_files.contains(name); });
}

std::vector<std::string> file_readers_in_headers(const std::string& room) {
  static const std::regex reader(
      R"(\b((?:read|load|find|newest|stored|owner|holder|file)_\w+|\w+_at_end)\((?:System& \w+, )?)"
      R"((?:const std::string&|const RunDir&|const std::filesystem::path&)\s+(\w+))");
  return functions_in_headers(room, reader, [](const std::string& name) {
    return name != "name" && of_files.contains(name);
  });
}

}  // namespace dllaunch
