#include "launcher/run/rank_logs.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "launcher/base/shown_line.hpp"
#include "launcher/os/line_tail.hpp"
#include "launcher/run/log_line.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/id_set.hpp"
#include "support/regular_file.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

/// Newest first: a run resumed on another node has several logs per rank.
std::vector<std::string> logs_of(const RunDir& run, const std::string& prefix) {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  std::error_code error;
  for (fs::directory_iterator at(run.out(), error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with(prefix)) continue;
    std::error_code ignored;
    found.emplace_back(at->last_write_time(ignored), at->path().string());
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> paths;
  paths.reserve(found.size());
  for (auto& [time, path] : found) paths.push_back(std::move(path));
  return paths;
}

bool has_error(const std::vector<std::string>& lines) {
  return std::ranges::any_of(lines, [](const std::string& line) { return is_error_line(line); });
}

}  // namespace

std::string rank_log_name(int rank, const std::string& host) {
  std::string safe = host;
  std::ranges::replace(safe, '/', '_');
  return fmt::format("rank-{:04}-{}.log", rank, safe);
}

double changed_at_s(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return 0;
  return static_cast<double>(info.st_mtim.tv_sec) +
         1e-9 * static_cast<double>(info.st_mtim.tv_nsec);
}

std::string host_of_log(const std::string& path) {
  const std::string name = fs::path(path).stem().string();
  const auto first = name.find('-');
  const auto second = name.find('-', first + 1);
  if (first == std::string::npos || second == std::string::npos) return "";
  return name.substr(second + 1);
}

std::string host_of_rank(const RunDir& run, int rank) {
  const auto logs = logs_of(run, fmt::format("rank-{:04}-", rank));
  return logs.empty() ? std::string() : host_of_log(logs.front());
}

std::string words_of_late_ranks(const RunDir& run, const StallEvent& stall) {
  IdSet late;
  for (const auto rank : stall.late_ranks)
    if (rank >= 0 && rank <= IdSet::max_id) late.insert(static_cast<int>(rank));
  if (late.empty()) return "";
  const bool one = late.size() == 1;
  const auto host = one ? host_of_rank(run, late.first()) : "";
  auto text = fmt::format("rank{} {}{} held up the others", one ? "" : "s", to_list(late),
                          host.empty() ? "" : " on " + host);
  if (stall.seconds) text += fmt::format(" for {:.0f} s", *stall.seconds);
  if (!stall.collective.empty()) text += " in " + shown_line(stall.collective);
  return text;
}

std::string hosts_of_ranks(const RunDir& run) {
  struct Log {
    std::string host;
    std::string path;
  };
  std::map<int, Log> newest;  // by rank
  std::vector<std::string> hosts;
  std::error_code error;
  for (fs::directory_iterator at(run.out(), error), end; !error && at != end; at.increment(error)) {
    auto source = log_source(at->path().filename().string());
    if (!source) continue;
    if (source->rank < 0) {
      hosts.push_back(std::move(source->node));
      continue;
    }
    Log log{std::move(source->node), at->path().string()};
    const auto [known, added] = newest.try_emplace(source->rank, log);
    // A rank that was restarted on another node has two.
    if (!added && changed_at_s(log.path) > changed_at_s(known->second.path))
      known->second = std::move(log);
  }
  for (auto& [rank, log] : newest) hosts.push_back(std::move(log.host));
  return compress_host_set(std::move(hosts));
}

namespace {

/// `error`: why the folder cannot be read.
LogSizes sizes_of_logs(const RunDir& run, std::error_code& error) {
  LogSizes sizes;
  for (fs::directory_iterator at(run.out(), error), end; !error && at != end; at.increment(error)) {
    const auto name = at->path().filename().string();
    std::error_code ignored;
    if (log_source(name)) sizes[name] = at->file_size(ignored);
  }
  if (error == std::errc::no_such_file_or_directory) error.clear();
  return sizes;
}

}  // namespace

LogSizes sizes_of_logs(const RunDir& run) {
  std::error_code ignored;
  return sizes_of_logs(run, ignored);
}

Result<Ok> for_each_line_of_rank(const RunDir& run, int rank, const LogSizes& from,
                                 const std::function<void(const std::string&)>& look) {
  const auto refused = [](const std::string& path, const std::string& why) {
    return Error{ErrorKind::unavailable, fmt::format("cannot read {}: {}", path, why), ""};
  };
  std::error_code error;
  std::vector<std::pair<double, std::string>> logs;
  for (const auto& [name, bytes] : sizes_of_logs(run, error)) {
    const auto source = log_source(name);
    if (source->rank == rank || source->rank < 0)
      logs.emplace_back(changed_at_s(run.out() + "/" + name), name);
  }
  if (error) return refused(run.out(), error.message());
  std::ranges::sort(logs);
  for (const auto& [changed_s, name] : logs) {
    const bool of_node = log_source(name)->rank < 0;
    const auto begin = from.find(name);
    const auto path = run.out() + "/" + name;
    const int why = for_each_line(
        path,
        [&](const std::string& line) {
          if (!of_node) return look(line);
          const auto labelled = split_label(line);
          if (labelled.rank == rank) look(std::string(labelled.text));
        },
        begin == from.end() ? 0 : begin->second);
    if (why != 0) return refused(path, std::strerror(why));
  }
  return Ok{};
}

std::string file_end(const std::string& path, std::size_t most) {
  const int file = open_regular_file(path, FileLinks::refused);
  if (file < 0) return "";
  struct stat info {};
  const off_t size = fstat(file, &info) == 0 ? info.st_size : 0;
  const off_t take = std::min(size, static_cast<off_t>(most));
  auto text =
      bytes_at(file, static_cast<std::uint64_t>(size - take), static_cast<std::uint64_t>(take));
  close(file);
  const auto line = take < size ? text.find('\n') : std::string::npos;
  return line == std::string::npos ? text : text.substr(line + 1);
}

LogExcerpt excerpt_of(const RunDir& run, const DeadRank& dead, std::size_t most_lines) {
  constexpr std::size_t most_bytes = 65536;
  const auto read = [&](const std::string& path) {
    auto lines = log_excerpt(file_end(path, most_bytes), most_lines);
    const bool error = has_error(lines);
    return LogExcerpt{path, std::move(lines), error};
  };
  LogExcerpt fallback;
  if (dead.rank >= 0) {
    const auto own = logs_of(run, fmt::format("rank-{:04}-", dead.rank));
    if (!own.empty()) fallback = read(own.front());
    if (dead.signal != 0 || fallback.has_error) return fallback;
  }
  for (const auto& path : logs_of(run, "rank-")) {
    auto excerpt = read(path);
    if (excerpt.has_error) return excerpt;
    if (fallback.path.empty()) fallback = std::move(excerpt);
  }
  return fallback;
}

}  // namespace dllaunch
