// Runs a fuzz target without libFuzzer: every seed as it is, then damaged ones, the same ones in
// the same order on every machine, for a second or two (DLLAUNCH_TEST_FULL=1: longer).
//
//   fuzz_NAME SEEDS...      files, or folders of them; a file that broke it is replayed the same
//   way
//
// An input that crashes or hangs the target is left in fuzz_NAME.crash.

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "tests/fuzz/must_hold.hpp"
#include "tests/support/tier.hpp"
#include "tests/topology/discovery/damage.hpp"

// There only where a sanitizer is linked.
extern "C" void __sanitizer_set_death_callback(void (*)()) __attribute__((weak));

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr unsigned hang_s = 30;

const std::string* under_test = nullptr;
std::string crash_file;

void write_all(int file, const char* text, std::size_t size) {
  while (size > 0) {
    const auto count = write(file, text, size);
    if (count <= 0) return;
    text += count;
    size -= static_cast<std::size_t>(count);
  }
}

// Called from signal handlers: nothing but system calls.
void keep_input() {
  if (under_test == nullptr) return;
  const int file = open(crash_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  write_all(file, under_test->data(), under_test->size());
  close(file);
  constexpr std::string_view kept = "fuzz: the input is in ";
  write_all(STDERR_FILENO, kept.data(), kept.size());
  write_all(STDERR_FILENO, crash_file.data(), crash_file.size());
  write_all(STDERR_FILENO, "\n", 1);
}

void die_of(int signal) {
  keep_input();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void keep_the_input_of_a_crash() {
  std::vector<int> deadly{SIGABRT, SIGALRM};
  if (__sanitizer_set_death_callback != nullptr)
    __sanitizer_set_death_callback(keep_input);
  else
    deadly.insert(deadly.end(), {SIGSEGV, SIGBUS, SIGFPE, SIGILL});
  for (const int signal : deadly) std::signal(signal, die_of);
}

std::string read_bytes(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<std::string> read_seeds(const std::vector<std::string>& places) {
  std::vector<fs::path> files;
  for (const auto& place : places) {
    if (!fs::is_directory(place)) {
      files.emplace_back(place);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(place))
      if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds{""};
  for (const auto& file : files) seeds.push_back(read_bytes(file));
  return seeds;
}

void feed(const std::string& input) {
  under_test = &input;
  alarm(hang_s);
  // A copy of exactly this size, so that a sanitizer sees a read beyond its end.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  alarm(0);
  under_test = nullptr;
}

std::size_t feed_damaged(const std::vector<std::string>& seeds, std::chrono::milliseconds budget) {
  Random random(1);
  const auto any = [&]() -> const std::string& {
    return seeds[static_cast<std::size_t>(random.below(static_cast<int>(seeds.size())))];
  };
  const auto end = std::chrono::steady_clock::now() + budget;
  std::size_t rounds = 0;
  for (; std::chrono::steady_clock::now() < end; ++rounds) {
    auto text = any();
    if (random.one_in(4)) {
      const auto& other = any();
      const auto cut = random.below(static_cast<int>(other.size()) + 1);
      text.insert(static_cast<std::size_t>(random.below(static_cast<int>(text.size()) + 1)),
                  other.substr(static_cast<std::size_t>(cut), 200));
    }
    feed(damaged(text, random));
  }
  return rounds;
}

}  // namespace
}  // namespace dllaunch

int main(int argc, char** argv) {
  using namespace dllaunch;
  const auto seeds = read_seeds({argv + 1, argv + argc});
  if (seeds.size() < 2) {
    std::fprintf(stderr, "fuzz: no seeds; usage: %s SEEDS...\n", argv[0]);
    return 2;
  }
  crash_file = fs::path(argv[0]).filename().string() + ".crash";
  keep_the_input_of_a_crash();
  for (const auto& seed : seeds) feed(seed);
  const bool full = full_tier();
  const auto rounds = feed_damaged(seeds, std::chrono::milliseconds(full ? 15000 : 1500));
  std::printf("%zu seeds and %zu damaged inputs held\n", seeds.size() - 1, rounds);
  return 0;
}
