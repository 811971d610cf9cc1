#include "launcher/run/rank_records.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <vector>

#include "launcher/base/format.hpp"
#include "launcher/base/shown_line.hpp"
#include "launcher/base/split.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/run/failure.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/run/rank_logs.hpp"
#include "runtime/rank/run_ownership.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"
#include "support/run_file.hpp"

namespace dllaunch {

/// A line.
struct RankLine {
  double time = 0;
  int rank = -1;
  std::int64_t fencing_token = 0;
  int ranks = 0;                      // 0: the rank has ended
  std::optional<int> exit_code = {};  // of such a rank, or the next
  std::optional<int> signal = {};
};

template <typename Field>
void visit_fields(Field& field, RankLine& line) {
  field("time", line.time);
  field("rank", within(line.rank, 0, IdSet::max_id));
  field("generation", line.fencing_token);
  field.unless_empty("ranks", within(line.ranks, 0, IdSet::max_id + 1));
  field.unless_empty("exit_code", line.exit_code);
  field.unless_empty("signal", line.signal);
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view extension = ".jsonl";
constexpr std::size_t most_files = IdSet::max_id + 1;
constexpr std::size_t most_bytes = std::size_t{1} << 18;  // of a file: some hundred ranks' starts
constexpr double clock_skew_s = 5;

std::string folder_of(const std::string& run_dir) {
  return run_dir + "/ranks";
}

/// One write a line: the ranks of a node share the file. Returns -1 and errno on failure.
int open_record(const std::string& run_dir, const std::string& path) {
  constexpr int flags = O_WRONLY | O_CREAT | O_APPEND;
  const int fd = open_run_file(run_dir, path, flags);
  if (fd >= 0 || errno != ENOENT) return fd;
  const auto folder = folder_of(run_dir);
  if (mkdir(folder.c_str(), 0700) == 0 && is_shared(run_dir)) chmod(folder.c_str(), 0750);
  return open_run_file(run_dir, path, flags);
}

bool append(int fd, const RankLine& line) {
  const auto text = write_fields(line).dump() + "\n";
  return write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string list_of(const IdSet& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", to_list(ranks));
}

std::string end_words(const RankLife& life) {
  if (life.signal == 0) return fmt::format("exit code {}", life.exit_code);
  return fmt::format("signal {} ({})", life.signal, signal_name(life.signal));
}

/// Ranks that ended alike in one part: "ranks 0-1 ended with exit code 0, the last at 10:03:04".
std::string words_of_ends(const std::vector<std::pair<int, RankLife>>& ended) {
  struct Part {
    IdSet ranks;
    RankLife last;
  };
  std::map<std::string, Part> parts;
  for (const auto& [rank, life] : ended) {
    auto& part = parts[end_words(life)];
    part.ranks.insert(rank);
    if (life.ended_s >= part.last.ended_s) part.last = life;
  }
  std::string text;
  for (const auto& [how, part] : parts) {
    const bool one = part.ranks.size() == 1;
    text += fmt::format("{}{}{} ended with {}{} at {}", text.empty() ? "" : "; ",
                        list_of(part.ranks), one ? " on " + printable(part.last.host) : "", how,
                        one ? "" : ", the last", clock_at(part.last.ended_s, "%H:%M:%S"));
  }
  return text;
}

}  // namespace

RankLifeRecord::~RankLifeRecord() {
  if (fd_ >= 0) close(fd_);
}

Result<RankLifeRecord> RankLifeRecord::begin(const std::string& run_dir, const std::string& host,
                                             int rank, int ranks, std::int64_t fencing_token) {
  auto name = host;
  std::ranges::replace(name, '/', '_');
  const auto path = fmt::format("{}/{}{}", folder_of(run_dir), name, extension);
  const int fd = open_record(run_dir, path);
  RankLifeRecord record(fd, rank, fencing_token);
  const RankLine line{
      .time = unix_seconds(), .rank = rank, .fencing_token = fencing_token, .ranks = ranks};
  if (fd < 0 || !append(fd, line))
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot write {}: {}", path, std::strerror(errno)), ""};
  return record;
}

void RankLifeRecord::end(int wait_status) const {
  RankLine line{.time = unix_seconds(), .rank = rank_, .fencing_token = fencing_token_};
  if (WIFSIGNALED(wait_status))
    line.signal = WTERMSIG(wait_status);
  else
    line.exit_code = WEXITSTATUS(wait_status);
  append(fd_, line);
}

namespace {
constexpr std::string_view unrecorded = "its start is not recorded";
}  // namespace

std::string unrecorded_words(int rank, const std::string& host, const Error& why) {
  return fmt::format("dllaunch: rank {} on {}: {}: {}\n", rank, host, unrecorded, why.what);
}

RanksOfStart ranks_of_start(const RunDir& run, std::int64_t fencing_token, double since_s) {
  if (fencing_token == 0)
    if (const auto owner = run_owner(run.path); owner && *owner) fencing_token = (*owner)->first;
  RanksOfStart start;
  std::size_t looked_at = 0;
  std::error_code error;
  const auto folder = folder_of(run.path);
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != extension || ++looked_at > most_files) continue;
    const auto host = at->path().stem().string();
    const auto text = file_end(at->path().string(), most_bytes);
    struct stat record {};
    if (stat(at->path().c_str(), &record) != 0) continue;
    for (const auto words : split_lines(text)) {
      const auto json = Json::parse(words, nullptr, /*allow_exceptions=*/false);
      if (!json.is_object()) continue;
      const auto line = read_what_fits<RankLine>(json);
      const bool unsure = line.fencing_token == 0 && line.time >= since_s - clock_skew_s;
      if (line.rank < 0 || (line.fencing_token != fencing_token && !unsure)) continue;
      start.ranks = std::max(start.ranks, line.ranks);
      auto& life = start.lives[line.rank];
      life.host = host;
      life.user = record.st_uid;
      if (!line.exit_code && !line.signal) continue;
      life.ended_s = line.time;
      life.exit_code = line.exit_code.value_or(0);
      life.signal = line.signal.value_or(0);
    }
  }
  return start;
}

IdSet never_began(const RanksOfStart& start, int planned, std::string_view output) {
  const int ranks = std::min(start.ranks > 0 ? start.ranks : planned, IdSet::max_id + 1);
  IdSet missing;
  for (int rank = 0; rank < ranks; ++rank)
    if (!start.lives.contains(rank)) missing.insert(rank);
  if (missing.empty() || output.find(unrecorded) == std::string_view::npos) return missing;
  for (const int rank : missing.ids())
    if (output.find(fmt::format("dllaunch: rank {} on ", rank)) != std::string_view::npos)
      missing.erase(rank);
  return missing;
}

std::string words_of_unbegun(const IdSet& ranks, std::string_view why) {
  const auto who = ranks.empty() ? "some ranks" : list_of(ranks);
  if (why.empty())
    return who + " left no record that they began, although what starts them exited with code 0";
  return fmt::format("{} did not begin: {}", who, shown_line(why));
}

std::string words_of_who_left(const RanksOfStart& start) {
  std::vector<std::pair<int, RankLife>> ended;
  IdSet others;
  for (const auto& [rank, life] : start.lives) {
    if (life.ended_s > 0)
      ended.emplace_back(rank, life);
    else
      others.insert(rank);
  }
  if (ended.empty() || others.empty()) return "";
  constexpr std::size_t longest_list = 40;
  const bool few = to_list(others).size() <= longest_list;
  return fmt::format("{}; {} not ended", words_of_ends(ended),
                     few ? list_of(others) + (others.size() == 1 ? " has" : " have")
                         : counted(others.size(), "rank") + " have");
}

bool ranks_go_on(const RunDir& run) {
  const auto start = ranks_of_start(run, 0, unix_seconds());
  return std::ranges::any_of(start.lives, [](const auto& one) { return one.second.ended_s == 0; });
}

std::string words_of_who_left(const RunDir& run) {
  auto words = words_of_who_left(ranks_of_start(run, 0, unix_seconds()));
  if (words.empty()) return words;
  const auto history = read_journal(run).history;
  const bool goes_on = history.empty() || history.back().cause == Cause::cut_short;
  return goes_on ? words : "";
}

std::string words_of_who_left_early(const RanksOfStart& start) {
  constexpr double never = std::numeric_limits<double>::max();
  double last_s = 0;  // of those that did not end well
  for (const auto& [rank, life] : start.lives) {
    const bool well = life.ended_s > 0 && life.exit_code == 0 && life.signal == 0;
    if (!well) last_s = std::max(last_s, life.ended_s > 0 ? life.ended_s : never);
  }
  std::vector<std::pair<int, RankLife>> early;
  for (const auto& [rank, life] : start.lives)
    if (life.ended_s > 0 && life.exit_code == 0 && life.signal == 0 &&
        life.ended_s + clock_skew_s < last_s)
      early.emplace_back(rank, life);
  return early.empty() ? "" : words_of_ends(early) + ", before the others";
}

}  // namespace dllaunch
