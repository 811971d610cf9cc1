#include "launcher/run/failure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstring>

#include "launcher/base/exit_code.hpp"
#include "launcher/base/shown_line.hpp"
#include "launcher/base/split.hpp"
#include "launcher/base/utf8.hpp"

namespace dllaunch {
namespace {

/// Returns the number after the first `word`; nullopt if there is none.
std::optional<int> number_after(std::string_view text, std::string_view word) {
  const auto at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  auto rest = text.substr(at + word.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  int number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  return number;
}

std::string word_after(std::string_view text, std::string_view before) {
  const auto at = text.find(before);
  if (at == std::string_view::npos) return "";
  const auto rest = text.substr(at + before.size());
  return std::string(rest.substr(0, rest.find_first_of(" \t\n,:")));
}

/// "mpirun noticed that process rank 1 with PID 12 on node vm exited on signal 9 (Killed)."
std::optional<DeadRank> signalled(std::string_view text) {
  const auto at = text.find("noticed that process rank ");
  if (at == std::string_view::npos) return std::nullopt;
  // Open MPI wraps long sentences between words.
  std::string sentence(text.substr(at, 400));
  std::ranges::replace(sentence, '\n', ' ');
  DeadRank dead;
  dead.rank = number_after(sentence, "process rank ").value_or(-1);
  dead.host = word_after(sentence, " on node ");
  dead.signal = number_after(sentence, "on signal ").value_or(0);
  if (dead.signal == 0) return std::nullopt;
  return dead;
}

/// "  Process name: [[32323,1],1]" or "[prterun-vm-1234@1,1]", and "  Exit code:    3".
std::optional<DeadRank> exited(std::string_view text) {
  const auto at = text.find("Process name:");
  if (at == std::string_view::npos) return std::nullopt;
  const auto block = text.substr(at, 400);
  const auto name = block.substr(0, block.find('\n'));
  DeadRank dead;
  dead.exit_code = number_after(block, "Exit code:").value_or(0);
  const auto comma = name.rfind(',');
  if (comma != std::string_view::npos)
    dead.rank = number_after(name.substr(comma), ",").value_or(-1);
  if (dead.exit_code == 0 || dead.rank < 0) return std::nullopt;
  return dead;
}

/// "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode 5."
std::optional<DeadRank> aborted(std::string_view text) {
  const auto at = text.find("MPI_ABORT was invoked on rank ");
  if (at == std::string_view::npos) return std::nullopt;
  const auto sentence = text.substr(at, 400);
  DeadRank dead;
  dead.rank = number_after(sentence, "on rank ").value_or(-1);
  dead.exit_code = number_after(sentence, "with errorcode ").value_or(1);
  if (dead.exit_code == 0) dead.exit_code = 1;
  return dead;
}

/// Parses "srun: error: HOST: task N: REASON" or "HOSTS: tasks 0-1: REASON".
std::optional<DeadRank> from_srun_line(std::string_view line) {
  constexpr std::string_view mark = "srun: error: ";
  const auto begin = line.find(mark);
  if (begin == std::string_view::npos) return std::nullopt;
  line.remove_prefix(begin + mark.size());
  const auto task = line.find(": task");
  if (task == std::string_view::npos) return std::nullopt;
  DeadRank dead;
  dead.host = std::string(line.substr(0, task));
  const auto rest = line.substr(task + 1);
  const auto digits = rest.find_first_of("0123456789");
  const auto colon = rest.find(": ");
  if (digits == std::string_view::npos || colon == std::string_view::npos) return std::nullopt;
  dead.rank = number_after(rest.substr(digits), "").value_or(-1);
  // Slurm kills the ranks that are left, too: which of them was first is not said.
  if (rest.starts_with(" tasks ")) dead.others = rest.substr(digits, colon - digits);
  const auto reason = rest.substr(colon + 2);
  dead.out_of_memory = reason.starts_with("Out Of Memory");
  dead.signal = dead.out_of_memory ? 9 : signal_in_output(reason);
  if (dead.signal == 0) dead.exit_code = number_after(reason, "Exited with exit code ").value_or(0);
  if (dead.signal == 0 && dead.exit_code == 0) return std::nullopt;
  return dead;
}

}  // namespace

std::optional<DeadRank> dead_rank_from_mpirun(std::string_view text) {
  // A peer's death may make others abort: the signal is the cause, the abort an echo.
  if (auto dead = signalled(text)) return dead;
  if (auto dead = aborted(text)) return dead;
  return exited(text);
}

std::optional<DeadRank> dead_rank_from_srun(std::string_view text) {
  std::optional<DeadRank> terminated;
  std::optional<DeadRank> wrote_to_the_dead;
  for (const auto line : split_lines(text)) {
    auto dead = from_srun_line(line);
    if (!dead) continue;
    if (dead->signal != SIGTERM && dead->signal != SIGPIPE) return dead;
    auto& echo = dead->signal == SIGTERM ? terminated : wrote_to_the_dead;
    if (!echo) echo = std::move(dead);
  }
  return wrote_to_the_dead ? wrote_to_the_dead : terminated;
}

std::optional<DeadRank> killed_rank_from_srun(std::string_view text) {
  constexpr std::array<int, 5> causes = {SIGKILL, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
  for (const auto line : split_lines(text)) {
    auto dead = from_srun_line(line);
    if (dead && std::ranges::find(causes, dead->signal) != causes.end()) return dead;
  }
  return std::nullopt;
}

std::optional<DeadRank> dead_rank_from_spawn(std::string_view text) {
  for (const auto line : split_lines(text)) {
    if (!line.starts_with("dllaunch: rank ")) continue;
    DeadRank dead{.rank = number_after(line, "rank ").value_or(-1),
                  .host = word_after(line, " on "),
                  .signal = number_after(line, " was killed by signal ").value_or(0),
                  .exit_code = number_after(line, " exited with code ").value_or(0)};
    if (dead.signal != 0 || dead.exit_code != 0) return dead;
  }
  return std::nullopt;
}

std::string describe(const DeadRank& dead) {
  const bool several = !dead.others.empty();
  std::string text = several          ? "ranks " + printable(dead.others)
                     : dead.rank >= 0 ? fmt::format("rank {}", dead.rank)
                                      : "a rank";
  if (!dead.host.empty()) text += " on " + printable(dead.host);
  if (dead.signal == 0 && !dead.out_of_memory) {
    return text + fmt::format(" exited with code {}", dead.exit_code);
  }
  text += several ? " were killed" : " was killed";
  if (dead.out_of_memory) return text + ": out of memory";
  text += fmt::format(" by signal {} ({})", dead.signal, signal_name(dead.signal));
  // Not the cause: the peer's end is, and Slurm may report its node only later.
  return dead.signal == SIGPIPE ? text + ": it wrote to a process that had ended" : text;
}

std::string describe_unsaved(const DeadRank& dead) {
  const bool several = dead.others.find_first_of(",-") != std::string::npos;
  const auto signal = signal_name(dead.signal);
  return fmt::format("{} {} killed by {}, which asks {} to save: {} program{} does not handle it",
                     several          ? "ranks " + printable(dead.others)
                     : dead.rank >= 0 ? fmt::format("rank {}", dead.rank)
                                      : "a rank",
                     several ? "were" : "was", signal.substr(signal.starts_with("SIG") ? 3 : 0),
                     several ? "them" : "it", several ? "their" : "its",
                     dead.host.empty() ? "" : " on " + printable(dead.host));
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

int signal_of_name(std::string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (int signal = 1; signal < 32; ++signal) {
    if (signal_name(signal).substr(3) == name) return signal;
  }
  return 0;
}

int signal_in_output(std::string_view output) {
  for (int signal = 1; signal < 32; ++signal) {
    const char* description = sigdescr_np(signal);
    if (description != nullptr && output.starts_with(description)) return signal;
  }
  return 0;
}

bool is_error_line(std::string_view line) {
  constexpr std::array<std::string_view, 10> phrases = {
      "error",   "Error",     "ERROR", "Traceback", "terminate called",
      "what():", "Assertion", "FATAL", "fatal",     "Segmentation fault"};
  return std::any_of(phrases.begin(), phrases.end(), [&](std::string_view word) {
    return line.find(word) != std::string_view::npos;
  });
}

std::vector<std::string> log_excerpt(std::string_view log, std::size_t most) {
  constexpr std::size_t most_shown = 400;
  const auto lines = list_of_lines(log);
  std::vector<std::size_t> chosen;
  // Half for errors anywhere in the log, the rest for the last lines.
  for (std::size_t i = lines.size(); i-- > 0 && chosen.size() < most / 2;) {
    if (is_error_line(lines[i])) chosen.push_back(i);
  }
  for (std::size_t i = lines.size(); i-- > 0 && chosen.size() < most;) {
    if (lines[i].find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (std::find(chosen.begin(), chosen.end(), i) == chosen.end()) chosen.push_back(i);
  }
  std::sort(chosen.begin(), chosen.end());
  std::vector<std::string> excerpt;
  excerpt.reserve(chosen.size());
  for (const auto i : chosen) {
    const auto shown = shown_line(lines[i]);
    excerpt.emplace_back(first_bytes(shown, most_shown));
  }
  return excerpt;
}

int exit_code_of_job(int code) {
  const std::array<int, 4> passed = {exit_code::success, exit_code::bad_request,
                                     exit_code::environment, exit_code::do_not_requeue};
  return std::find(passed.begin(), passed.end(), code) != passed.end() ? code
                                                                       : exit_code::job_failed;
}

}  // namespace dllaunch
