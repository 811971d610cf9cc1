#include "launcher/run/journal.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/run/rank_logs.hpp"
#include "support/json.hpp"
#include "support/regular_file.hpp"
#include "support/run_file.hpp"

namespace dllaunch {
namespace {

/// Only the newest lines of a long journal count.
constexpr std::size_t most_bytes = std::size_t{1} << 20;
constexpr std::size_t most_words = 1000;

std::string path_of(const RunDir& run) {
  return run.path + "/supervisor.jsonl";
}
std::string marker_of(const RunDir& run) {
  return run.path + "/finished.job";
}

Json head(double time, const char* event, const std::string& job, int allocation) {
  return {{"time", time}, {"event", event}, {"job", job}, {"allocation", allocation}};
}

std::string text_of(const Json& line) {
  return line.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

std::string shortened(const std::string& words) {
  return std::string(first_bytes(printable(words), most_words));
}

std::string word(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// Valid numbers are small; others are rejected.
int number(const Json& line, const char* key, int otherwise) {
  constexpr std::int64_t most = 1'000'000'000;
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number_integer()) return otherwise;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > most) return otherwise;
  const auto value = found->get<std::int64_t>();
  return value >= -1 && value <= most ? static_cast<int>(value) : otherwise;
}

bool flag(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_boolean() && found->get<bool>();
}

double time_of(const Json& line) {
  constexpr double most = 1e11;  // beyond any valid clock, in Unix seconds
  const auto found = line.find("time");
  const double time = found != line.end() && found->is_number() ? found->get<double>() : 0;
  return time > 0 && time < most ? time : 0;
}

Attempt attempt_of(const Json& line) {
  Attempt attempt{.job = word(line, "job"), .allocation = number(line, "allocation", 0)};
  attempt.cause = cause_of_word(word(line, "cause")).value_or(Cause::cut_short);
  attempt.exit_code = number(line, "exit_code", 0);
  attempt.dead = {.rank = number(line, "rank", -1),
                  .host = word(line, "host"),
                  .signal = number(line, "signal", 0),
                  .exit_code = number(line, "rank_exit_code", 0),
                  .out_of_memory = flag(line, "out_of_memory")};
  attempt.error_rank = number(line, "error_rank", -1);
  attempt.first_error = word(line, "first_error");
  attempt.words = word(line, "words");
  attempt.new_checkpoint = flag(line, "new_checkpoint");
  attempt.idle = flag(line, "idle");
  attempt.enough_nodes = flag(line, "enough_nodes");
  return attempt;
}

std::optional<Next> next_of_word(std::string_view word) {
  for (const Next next : {Next::restart, Next::requeue, Next::stop}) {
    if (to_string(next) == word) return next;
  }
  return std::nullopt;
}

RunStatus status_of_word(std::string_view word) {
  for (int i = 0; i <= static_cast<int>(RunStatus::out_of_memory); ++i) {
    const auto status = static_cast<RunStatus>(i);
    if (to_string(status) == word) return status;
  }
  return RunStatus::failed;
}

int exit_code_in(const Json& line) {
  constexpr int most = 128;  // higher codes denote signals
  const int code = number(line, "exit_code", 1);
  return code >= 0 && code <= most ? code : 1;
}

void take(const Json& line, Journal& journal) {
  const auto event = word(line, "event");
  auto& history = journal.history;
  journal.last_time = std::max(journal.last_time, time_of(line));
  if (event == "attempt" || event == "ended") journal.decided = false;
  if (event == "attempt") {
    journal.put_back_for_nodes = 0;
    history.push_back({.job = word(line, "job"),
                       .allocation = number(line, "allocation", 0),
                       .checkpoint = word(line, "checkpoint")});
  } else if (event == "ended") {
    auto attempt = attempt_of(line);
    // The attempt's start precedes it, unless the disk was full then.
    const bool begun = !history.empty() && history.back().cause == Cause::cut_short &&
                       history.back().job == attempt.job &&
                       history.back().allocation == attempt.allocation;
    if (begun)
      history.back() = std::move(attempt);
    else
      history.push_back(std::move(attempt));
  } else if (event == "decision") {
    const auto next = next_of_word(word(line, "next"));
    if (!next) return;
    journal.last = JournalDecision{.time = time_of(line),
                                   .job = word(line, "job"),
                                   .allocation = number(line, "allocation", 0),
                                   .next = *next,
                                   .reason = word(line, "reason"),
                                   .status = status_of_word(word(line, "status")),
                                   .exit_code = exit_code_in(line),
                                   .wanted_requeue = word(line, "wanted") == "requeue",
                                   .exclude = word(line, "exclude")};
    journal.decided = true;
    if (!journal.last->exclude.empty()) ++journal.put_back_for_nodes;
  }
}

}  // namespace

Journal parse_journal(std::string_view text) {
  Journal journal;
  for (const auto text_line : split_lines(text)) {
    const auto line = Json::parse(text_line, nullptr, /*allow_exceptions=*/false);
    if (line.is_object()) take(line, journal);
  }
  return journal;
}

bool is_readable(const RunDir& run) {
  for (const auto& path : {path_of(run), marker_of(run)}) {
    const int file = open_regular_file(path);
    if (file < 0 && errno == ENOENT) continue;
    char byte = 0;
    const bool good = file >= 0 && read(file, &byte, 1) >= 0;
    if (file >= 0) close(file);
    if (!good) return false;
  }
  return true;
}

Journal read_journal(const RunDir& run) {
  return parse_journal(file_end(path_of(run), most_bytes));
}

std::string stopped_in(const Journal& journal, std::string_view job) {
  const auto& last = journal.last;
  const bool stopped = journal.decided && last && last->next == Next::stop && last->job == job;
  return stopped && !last->wanted_requeue ? last->reason : "";
}

int restarts_in(const Journal& journal, std::string_view job) {
  const auto starts =
      std::count_if(journal.history.begin(), journal.history.end(), [job](const Attempt& attempt) {
        return attempt.job == job && attempt.cause != Cause::not_started;
      });
  return std::max(0, static_cast<int>(starts) - 1);
}

std::string line_of(const JournalAttempt& begun) {
  auto line = head(begun.time, "attempt", begun.job, begun.allocation);
  line["attempt"] = begun.attempt;
  line["generation"] = begun.fencing_token;
  if (!begun.checkpoint.empty()) line["checkpoint"] = begun.checkpoint;
  return text_of(line);
}

namespace {

void tell_end(Json& line, const Attempt& ended) {
  line["cause"] = to_string(ended.cause);
  line["exit_code"] = ended.exit_code;
  line["reason"] = shortened(describe(ended));
  line["new_checkpoint"] = ended.new_checkpoint;
  if (ended.idle) line["idle"] = true;
  if (ended.enough_nodes) line["enough_nodes"] = true;
  if (ended.dead.rank >= 0) line["rank"] = ended.dead.rank;
  if (!ended.dead.host.empty()) line["host"] = ended.dead.host;
  if (ended.dead.signal != 0) line["signal"] = ended.dead.signal;
  if (ended.dead.exit_code != 0) line["rank_exit_code"] = ended.dead.exit_code;
  if (ended.dead.out_of_memory) line["out_of_memory"] = true;
  if (ended.dead_seen_s > 0) line["dead_seen"] = ended.dead_seen_s;
  if (!ended.words.empty()) line["words"] = shortened(ended.words);
  if (!ended.first_error.empty()) {
    line["error_rank"] = ended.error_rank;
    line["first_error"] = shortened(ended.first_error);
  }
}

}  // namespace

std::string line_of(const JournalAttempt& begun, const Attempt& ended, double time) {
  auto line = head(time, "ended", ended.job, ended.allocation);
  line["attempt"] = begun.attempt;
  line["generation"] = begun.fencing_token;
  line["seconds"] = time - begun.time;
  tell_end(line, ended);
  return text_of(line);
}

std::string line_of(const Attempt& ended, double time) {
  auto line = head(time, "ended", ended.job, ended.allocation);
  tell_end(line, ended);
  return text_of(line);
}

std::string line_of(const JournalPreflight& look) {
  auto line = head(look.time, "preflight", look.job, look.allocation);
  line["seconds"] = look.seconds;
  line["unfit"] = look.unfit;
  if (!look.why.empty()) line["reason"] = shortened(look.why);
  return text_of(line);
}

std::string line_of(const JournalDecision& decision, std::optional<double> backoff_s) {
  auto line = head(decision.time, "decision", decision.job, decision.allocation);
  line["next"] = to_string(decision.next);
  line["status"] = to_string(decision.status);
  if (decision.next == Next::stop) line["exit_code"] = decision.exit_code;
  if (decision.wanted_requeue) line["wanted"] = to_string(Next::requeue);
  line["reason"] = shortened(decision.reason);
  if (!decision.exclude.empty()) line["exclude"] = decision.exclude;
  if (backoff_s) line["backoff"] = *backoff_s;
  return text_of(line);
}

void reserve_journal(const RunDir& run) {
  if (run.path.empty()) return;
  constexpr off_t room = 65536;
  const int file = open_run_file(run.path, path_of(run), O_WRONLY | O_CREAT | O_APPEND);
  if (file < 0) return;
  struct stat info {};
  // Best effort.
  if (fstat(file, &info) == 0) fallocate(file, FALLOC_FL_KEEP_SIZE, info.st_size, room);
  close(file);
}

Result<Ok> append_to_journal(const RunDir& run, const std::string& line) {
  return append_lines(path_of(run), line);
}

std::optional<std::string> finished_in_job(const RunDir& run) {
  constexpr std::size_t most = 100;
  auto text = file_end(marker_of(run), most);
  text.erase(std::min(text.find('\n'), text.size()));
  if (text.empty()) return std::nullopt;
  return text;
}

Result<Ok> mark_finished(const RunDir& run, const std::string& job) {
  auto done = write_file(marker_of(run), job + "\n");
  return done ? sync_folder(run.path) : done;
}

std::string words_of(const JournalDecision& decision) {
  const auto when = static_cast<std::time_t>(decision.time);
  std::tm local{};
  localtime_r(&when, &local);
  std::array<char, 32> clock{};
  std::strftime(clock.data(), clock.size(), "%H:%M:%S", &local);
  constexpr std::array<std::string_view, 3> verbs = {"restarted", "requeued", "stopped"};
  return fmt::format("{} at {}: {}", verbs[static_cast<std::size_t>(decision.next)], clock.data(),
                     decision.reason);
}

}  // namespace dllaunch
