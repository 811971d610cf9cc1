#include "launcher/supervise/spawn_ranks.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>

#include "launcher/accounting/rank_memory.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/os/descendants.hpp"
#include "launcher/os/owned_process.hpp"
#include "launcher/run/failure.hpp"
#include "runtime/rank/rank_env.hpp"

namespace dllaunch {
namespace {

constexpr std::chrono::seconds term_to_kill(2);

/// The signals that the starter waits for; blocked while an instance exists. Ranks start with
/// default signals (OwnedProcess).
class AwaitedSignals {
 public:
  AwaitedSignals() {
    sigemptyset(&awaited_);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) {
      struct sigaction now {};
      sigaction(signal, nullptr, &now);
      // A blocked signal would count although the shell or nohup ignores it.
      if (signal == SIGCHLD || now.sa_handler != SIG_IGN) sigaddset(&awaited_, signal);
    }
    sigprocmask(SIG_BLOCK, &awaited_, &before_);
  }
  AwaitedSignals(const AwaitedSignals&) = delete;
  AwaitedSignals& operator=(const AwaitedSignals&) = delete;
  ~AwaitedSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  int wait() const {
    int signal = 0;
    while (sigwait(&awaited_, &signal) != 0) {
    }
    return signal;
  }

 private:
  sigset_t awaited_{};
  sigset_t before_{};
};

struct End {
  int rank = 0;
  int code = 0;
};

/// How likely an end is the cause of others: when a peer dies, a rank may exit with an error, or
/// write to a closed connection, but no other signal kills it.
int weight(int code) {
  if (code == 0) return 0;
  if (code == 128 + SIGTERM || code == 128 + SIGPIPE) return 1;
  return code > 128 ? 3 : 2;
}

/// Returns the most likely cause where ranks have failed, any rank where all ended well; nullopt
/// while none has failed and some run.
std::optional<End> first_end(std::vector<OwnedProcess>& ranks) {
  End end;
  bool all_ended = true;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto code = ranks[rank].poll();
    all_ended = all_ended && code;
    if (weight(code.value_or(0)) > weight(end.code)) end = {static_cast<int>(rank), *code};
  }
  if (end.code == 0 && !all_ended) return std::nullopt;
  return end;
}

/// An exit code above 128 counts as a signal, as in a shell.
std::string words_of(const End& end, System& system) {
  const int signal = end.code - 128;
  const bool killed = signal > 0 && signal <= SIGRTMAX;
  return describe({.rank = end.rank,
                   .host = system.host_name(),
                   .signal = killed ? signal : 0,
                   .exit_code = killed ? 0 : end.code});
}

/// A rank that is still ending, since another failed, is not in the books.
void write_memory(const std::vector<OwnedProcess>& ranks, System& system) {
  const auto run_dir = system.environment("DLLAUNCH_RUN_DIR");
  if (!run_dir || run_dir->empty()) return;
  std::vector<RankMemory> ended;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (const auto peak = ranks[rank].peak_memory_bytes(); peak > 0)
      ended.push_back({.time = unix_seconds(),
                       .rank = static_cast<int>(rank),
                       .host = system.host_name(),
                       .peak_bytes = peak});
  }
  if (!ended.empty()) append_memory(*run_dir, ended);
}

}  // namespace

Result<int> spawn_ranks(int ranks, const std::vector<std::string>& argv, System& system) {
  const auto program = system.find_program(argv.at(0));
  if (!program)
    return Error{ErrorKind::unavailable, fmt::format("{} is not installed", argv[0]), ""};
  const AwaitedSignals signals;
  adopt_orphans();  // workers of a rank that is killed
  const auto world_size = std::to_string(ranks);
  std::vector<OwnedProcess> running;
  running.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const auto number = std::to_string(rank);
    auto started = OwnedProcess::start({.program = *program,
                                        .argv = argv,
                                        .environment = {{"RANK", number},
                                                        {"LOCAL_RANK", number},
                                                        {"WORLD_SIZE", world_size},
                                                        {"LOCAL_WORLD_SIZE", world_size},
                                                        {spawn_variable, std::to_string(getpid())}},
                                        .error_fd = STDERR_FILENO});
    if (!started) {
      end_descendants(term_to_kill);
      return std::move(started).error();
    }
    running.push_back(*std::move(started));
  }
  std::optional<End> end;
  while (!end) {
    const int signal = signals.wait();
    if (signal != SIGCHLD) {
      end_descendants(term_to_kill);
      return 128 + signal;
    }
    end = first_end(running);
  }
  write_memory(running, system);
  if (end->code != 0) system.log(fmt::format("dllaunch: {}\n", words_of(*end, system)));
  end_descendants(term_to_kill);
  return end->code;
}

}  // namespace dllaunch
