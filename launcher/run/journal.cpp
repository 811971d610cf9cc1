#include "launcher/run/journal.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "launcher/base/format.hpp"
#include "launcher/base/shell_quote.hpp"
#include "launcher/base/split.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/json_fields.hpp"
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

std::string shortened(const std::string& text) {
  return std::string(first_bytes(printable(text), most_words));
}

/// Invalid numbers are skipped.
constexpr std::int64_t most_number = 1'000'000'000;

/// Long texts are shortened when they are written.
auto as_short(std::string& text) {
  return as_text(text, shortened, [](std::string& read) { return Result(std::move(read)); });
}

}  // namespace

/// What every line begins with.
struct JournalHead {
  double time = 0;
  std::string event = {};
  std::string job = {};
  int allocation = 0;
};

template <typename Field>
void visit_fields(Field& field, JournalHead& head) {
  constexpr double latest = 1e11;  // beyond any valid clock, in Unix seconds
  field("time", head.time);
  field("event", head.event);
  field("job", head.job);
  field("allocation", within(head.allocation, -1, most_number));
  if constexpr (Field::reads)
    if (!(head.time > 0 && head.time < latest)) head.time = 0;
}

template <typename Field>
void visit_fields(Field& field, JournalAttempt& begun) {
  field("attempt", begun.attempt);
  field("generation", begun.fencing_token);
  field.unless_empty("checkpoint", begun.checkpoint);
  field.unless_empty("nodes", within(begun.nodes, 0, most_number));
  field.unless_empty("held", within(begun.held, 0, most_number));
}

/// How an attempt ended.
template <typename Field>
void visit_fields(Field& field, Attempt& ended) {
  field("cause", as_word(ended.cause, cause_names));
  field("exit_code", within(ended.exit_code, -1, most_number));
  if constexpr (!Field::reads) field("reason", shortened(describe(ended)));
  field("new_checkpoint", ended.new_checkpoint);
  field.unless_empty("idle", ended.idle);
  field.unless_empty("enough_nodes", ended.enough_nodes);
  field.unless_empty("asks", ended.asks);
  if (Field::reads || ended.dead.rank >= 0) field("rank", within(ended.dead.rank, -1, most_number));
  field.unless_empty("host", ended.dead.host);
  field.unless_empty("signal", within(ended.dead.signal, -1, most_number));
  field.unless_empty("rank_exit_code", within(ended.dead.exit_code, -1, most_number));
  field.unless_empty("out_of_memory", ended.dead.out_of_memory);
  if (ended.dead_seen_s > 0) field.only_written("dead_seen", ended.dead_seen_s);
  field.unless_empty("words", as_short(ended.detail));
  if (Field::reads || !ended.first_error.empty()) {
    field("error_rank", within(ended.error_rank, -1, most_number));
    field("first_error", as_short(ended.first_error));
  }
}

template <typename Field>
void visit_fields(Field& field, LevelCrossings& at) {
  field("level", at.level);
  field("given", within(at.given, 0, most_number));
  field("ordered", within(at.ordered, 0, most_number));
}

template <typename Field>
void visit_fields(Field& field, JournalNodes& nodes) {
  field("order", nodes.order);
  field.unless_empty("network", nodes.network);
  field.unless_empty("levels", nodes.levels);
}

template <typename Field>
void visit_fields(Field& field, JournalWait& wait) {
  field("reason", as_short(wait.reason));
}

template <typename Field>
void visit_fields(Field& field, JournalRetry& retry) {
  field("generation", retry.fencing_token);
  field.unless_empty("by", as_short(retry.by));
  field.unless_empty("changes", as_short(retry.changes));
}

template <typename Field>
void visit_fields(Field& field, JournalCorruption& found) {
  field("generation", found.fencing_token);
  field("step", found.step);
  field("since", found.since);
  field("what", found.what);
  field("how", found.how);
  if (Field::reads || found.rank >= 0) field("rank", within(found.rank, -1, most_number));
  field.unless_empty("host", found.host);
  field.unless_empty("node", found.node);
  field("line", as_short(found.line));
}

template <typename Field>
void visit_fields(Field& field, JournalDecision& decision) {
  constexpr int most_code = 128;  // higher codes denote signals
  auto wanted = decision.wanted_requeue ? std::string(to_string(Next::requeue)) : "";
  field.required("next", as_word(decision.next, next_names));
  field("status", as_word(decision.status, run_status_names));
  const bool ends = decision.next == Next::stop || decision.next == Next::hold;
  if (Field::reads || ends) field("exit_code", within(decision.exit_code, 0, most_code));
  field.unless_empty("wanted", wanted);
  field("reason", as_short(decision.reason));
  field.unless_empty("exclude", decision.exclude);
  field.unless_empty("until", decision.until);
  field.unless_empty("beside", as_short(decision.beside));
  if constexpr (Field::reads) decision.wanted_requeue = wanted == to_string(Next::requeue);
}

namespace {

template <typename T>
T part_of(const Json& line, const JournalHead& head) {
  auto part = read_what_fits<T>(line);
  part.job = head.job;
  part.allocation = head.allocation;
  return part;
}

void take(const Json& line, Journal& journal) {
  const auto head = read_what_fits<JournalHead>(line);
  auto& history = journal.history;
  journal.last_time = std::max(journal.last_time, head.time);
  if (head.event == "attempt" || head.event == "ended" || head.event == "retry")
    journal.decided = false;
  if (head.event != "preflight" && head.event != "nodes") journal.waits.reset();
  if (head.event == "attempt") {
    journal.put_back_for_nodes = 0;
    journal.attempt_began_s = head.time;
    auto begun = read_what_fits<JournalAttempt>(line);
    history.push_back({.job = head.job,
                       .allocation = head.allocation,
                       .checkpoint = std::move(begun.checkpoint),
                       .nodes = begun.nodes});
  } else if (head.event == "ended") {
    auto attempt = part_of<Attempt>(line, head);
    // The attempt's start precedes it, unless the disk was full then.
    const bool begun = !history.empty() && history.back().cause == Cause::cut_short &&
                       history.back().job == attempt.job &&
                       history.back().allocation == attempt.allocation;
    attempt.nodes = begun ? history.back().nodes : 0;
    if (begun)
      history.back() = std::move(attempt);
    else
      history.push_back(std::move(attempt));
  } else if (head.event == "nodes") {
    journal.nodes = part_of<JournalNodes>(line, head);
    journal.nodes->time = head.time;
  } else if (head.event == "waits") {
    auto wait = part_of<JournalWait>(line, head);
    wait.time = head.time;
    if (!wait.reason.empty()) journal.waits = std::move(wait);
  } else if (head.event == "corrupted") {
    journal.corruptions.push_back(part_of<JournalCorruption>(line, head));
    journal.corruptions.back().time = head.time;
  } else if (head.event == "retry") {
    journal.retry = part_of<JournalRetry>(line, head);
    journal.retry->time = head.time;
    journal.before_retry = history.size();
  } else if (head.event == "decision") {
    auto decision = part_of<JournalDecision>(line, head);
    std::string next;
    FieldReader(line, nullptr)("next", next);
    if (next != to_string(decision.next)) return;  // a newer dllaunch's
    decision.time = head.time;
    journal.last = std::move(decision);
    journal.decided = true;
    if (journal.last->exclude.empty()) return;
    ++journal.put_back_for_nodes;
    journal.excluded.emplace_back(journal.last->job, journal.last->exclude);
  }
}

}  // namespace

Journal parse_journal(std::string_view text) {
  Journal journal;
  for (const auto text_line : split_lines(text)) {
    if (text_line.empty()) continue;
    const auto line = Json::parse(text_line, nullptr, /*allow_exceptions=*/false);
    if (line.is_object()) take(line, journal);
  }
  return journal;
}

bool is_readable(const RunDir& run) {
  for (const auto& path : {path_of(run), marker_of(run), run.path + "/.run-id"}) {
    const int file = open_regular_file(path, FileLinks::refused);
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

namespace {

std::string text_of(FieldWriter line) {
  return std::move(line).take().dump(-1, ' ', /*ensure_ascii=*/false,
                                     Json::error_handler_t::replace) +
         "\n";
}

/// A line's beginning; its own fields follow.
FieldWriter head_of(const auto& told, const char* event, double time) {
  FieldWriter line;
  JournalHead head{time, event, told.job, told.allocation};
  visit_fields(line, head);
  return line;
}

template <typename Part>
void add(FieldWriter& line, const Part& part) {
  visit_fields(line, const_cast<Part&>(part));
}

}  // namespace

std::string line_of(const JournalAttempt& begun) {
  auto line = head_of(begun, "attempt", begun.time);
  add(line, begun);
  return text_of(std::move(line));
}

std::string line_of(const JournalAttempt& begun, const Attempt& ended, double time) {
  auto line = head_of(ended, "ended", time);
  line("attempt", begun.attempt);
  line("generation", begun.fencing_token);
  line("seconds", time - begun.time);
  add(line, ended);
  return text_of(std::move(line));
}

std::string line_of(const Attempt& ended, double time) {
  auto line = head_of(ended, "ended", time);
  add(line, ended);
  return text_of(std::move(line));
}

std::string line_of(const JournalPreflight& look) {
  auto line = head_of(look, "preflight", look.time);
  line("seconds", look.seconds);
  line("unfit", look.unfit);
  if (!look.why.empty()) line("reason", shortened(look.why));
  return text_of(std::move(line));
}

std::string line_of(const JournalWait& wait) {
  auto line = head_of(wait, "waits", wait.time);
  add(line, wait);
  return text_of(std::move(line));
}

std::string line_of(const JournalNodes& nodes) {
  auto line = head_of(nodes, "nodes", nodes.time);
  add(line, nodes);
  return text_of(std::move(line));
}

std::string line_of(const JournalRetry& retry) {
  auto line = head_of(retry, "retry", retry.time);
  add(line, retry);
  return text_of(std::move(line));
}

std::string line_of(const JournalCorruption& found) {
  auto line = head_of(found, "corrupted", found.time);
  add(line, found);
  return text_of(std::move(line));
}

std::string line_of(const JournalDecision& decision, std::optional<double> backoff_s) {
  auto line = head_of(decision, "decision", decision.time);
  add(line, decision);
  line.unless_empty("backoff", backoff_s);
  return text_of(std::move(line));
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

std::string words_of(const JournalNodes& nodes) {
  const auto hosts = expand_hosts(nodes.order);
  const auto words = ring_words(nodes.levels, hosts ? hosts->size() : 0);
  return words.empty() ? "" : words + "; " + nodes.network;
}

std::string words_of(const JournalDecision& decision) {
  if (decision.next == Next::hold)
    return fmt::format("held until {}: {}", clock_at(decision.until, "%H:%M"), decision.reason);
  // As next_names.
  constexpr std::array<std::string_view, std::size(next_names)> verbs = {"restarted", "requeued",
                                                                         "stopped", "held"};
  return fmt::format("{} at {}: {}", verbs[static_cast<std::size_t>(decision.next)],
                     clock_at(decision.time, "%H:%M:%S"), decision.reason);
}

std::string words_of(const JournalWait& wait) {
  return fmt::format("waits since {}: {}", clock_at(wait.time, "%H:%M:%S"), wait.reason);
}

std::string words_of(const JournalRetry& retry) {
  return fmt::format("retried at {} by {}{}", clock_at(retry.time, "%H:%M:%S"), retry.by,
                     retry.changes.empty() ? "" : ": " + retry.changes);
}

std::string hold_words(const JournalDecision& hold, const RunDir& run) {
  return fmt::format("{}; fix it and run: dllaunch retry {}", words_of(hold),
                     shell_quote(run.path));
}

}  // namespace dllaunch
