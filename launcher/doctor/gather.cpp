#include "launcher/doctor/gather.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "launcher/plan/program_paths.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/srun_env_options.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view marker = "dllaunch-doctor";
constexpr std::size_t piece_bytes = 400;

/// The next word; `text` is shortened by it and one blank.
std::string_view take_word(std::string_view& text) {
  const auto end = std::min(text.find(' '), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::optional<std::size_t> number_in(std::string_view word) {
  constexpr std::size_t most_pieces = 1 << 20;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size() || number > most_pieces)
    return std::nullopt;
  return number;
}

struct Pieces {
  std::size_t expected = 0;
  std::map<std::size_t, std::string> texts;
};

void add_line(std::string_view line, std::map<std::string, Pieces>& by_host) {
  if (take_word(line) != marker) return;
  const auto host = std::string(take_word(line));
  const auto index = number_in(take_word(line));
  const auto count = number_in(take_word(line));
  if (host.empty() || !index || !count) return;
  auto& pieces = by_host[host];
  pieces.expected = *count;
  pieces.texts[*index] = std::string(line);
}

std::vector<std::string> command(const std::string& dllaunch, const Allocation& allocation,
                                 std::chrono::seconds limit, bool bench) {
  std::vector<std::string> argv = {"env"};
  for (const auto& inherited : srun_env_options()) {
    argv.emplace_back("-u");
    argv.emplace_back(inherited.variable);
  }
  const auto nodes = allocation.hosts.size();
  // TERM lets srun hand on what has come; it is killed where it does not.
  argv.insert(argv.end(), {"timeout",
                           "--kill-after=5",
                           std::to_string(limit.count()),
                           "srun",
                           "--jobid=" + allocation.job_id,
                           "--overlap",
                           fmt::format("--nodes={}", nodes),
                           fmt::format("--ntasks={}", nodes),
                           "--ntasks-per-node=1",
                           "--cpu-bind=none",
                           "--mem-bind=none",
                           "--mem=0",
                           "--mpi=none",
                           "--input=none",
                           "--job-name=dllaunch-doctor",
                           "--kill-on-bad-exit=0",
                           "--quiet",
                           dllaunch,
                           "doctor",
                           "--node",
                           allocation.job_id});
  if (bench) argv.emplace_back("--bench");
  return argv;
}

/// The line of srun's complaints that names the host, else the first that says anything.
std::string why_silent(const std::string& host, std::string_view complaints,
                       const std::string& otherwise) {
  std::string first;
  while (!complaints.empty()) {
    const auto end = std::min(complaints.find('\n'), complaints.size());
    auto line = std::string(complaints.substr(0, end));
    complaints.remove_prefix(std::min(end + 1, complaints.size()));
    if (line.find(host) != std::string::npos) return line;
    if (first.empty()) first = std::move(line);
  }
  return first.empty() ? otherwise : first;
}

/// Where some nodes have ranks, those that have none need no line of their own.
void drop_idle_rows(Report& report) {
  const auto is_rank = [](const RankRow& row) { return row.rank >= 0; };
  if (std::any_of(report.ranks.begin(), report.ranks.end(), is_rank))
    std::erase_if(report.ranks, [&](const RankRow& row) { return !is_rank(row); });
  std::stable_sort(report.ranks.begin(), report.ranks.end(),
                   [](const RankRow& a, const RankRow& b) {
                     return a.job != b.job ? a.job < b.job : a.rank < b.rank;
                   });
}

}  // namespace

std::string answer_lines(const std::string& host, const Json& document) {
  const auto text = document.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  const auto count = (text.size() + piece_bytes - 1) / piece_bytes;
  std::string lines;
  for (std::size_t i = 0; i < count; ++i)
    lines += fmt::format("{} {} {} {} {}\n", marker, host, i, count,
                         text.substr(i * piece_bytes, piece_bytes));
  return lines;
}

std::map<std::string, Json> read_answers(std::string_view output) {
  std::map<std::string, Pieces> by_host;
  while (!output.empty()) {
    const auto end = std::min(output.find('\n'), output.size());
    add_line(output.substr(0, end), by_host);
    output.remove_prefix(std::min(end + 1, output.size()));
  }
  std::map<std::string, Json> answers;
  for (const auto& [host, pieces] : by_host) {
    if (pieces.texts.size() != pieces.expected) continue;
    std::string text;
    for (const auto& [index, piece] : pieces.texts) text += piece;
    auto document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!document.is_discarded()) answers.emplace(host, std::move(document));
  }
  return answers;
}

Result<std::optional<Allocation>> observe_allocation(System& system) {
  constexpr std::string_view interactive_step = "4294967290";
  const auto job = system.environment("SLURM_JOB_ID");
  const auto step = system.environment("SLURM_STEP_ID");
  const bool shell = step == interactive_step ||
                     (system.console().terminal_out && system.environment("SLURM_STEP_NUM_TASKS") ==
                                                           std::optional<std::string>("1"));
  if (!job || (step && !shell)) return std::optional<Allocation>();
  auto list = system.environment("SLURM_JOB_NODELIST");
  if (!list) list = system.environment("SLURM_NODELIST");
  auto hosts = expand_hosts(list.value_or(""));
  if (!hosts) return std::move(hosts).error().within("SLURM_JOB_NODELIST");
  if (hosts->empty())
    return Error{ErrorKind::bad_request, "SLURM_JOB_ID is set, but no SLURM_JOB_NODELIST",
                 "run it inside the allocation, or `env -u SLURM_JOB_ID dllaunch doctor`"};
  return std::optional(Allocation{*job, *std::move(hosts)});
}

Result<Report> examine_allocation(System& system, const Allocation& allocation, bool bench) {
  const auto paths = program_paths("");
  if (!paths) return paths.error();
  const auto nodes = static_cast<int>(allocation.hosts.size());
  const std::chrono::seconds limit(30 + nodes / 10 + (bench ? 60 : 0));
  const std::chrono::seconds grace(15);
  const auto output = system.run(command(paths->dllaunch, allocation, limit, bench), limit + grace);
  if (!output) return output.error();

  Report all;
  const auto answers = read_answers(output->out);
  const auto silence = fmt::format("no answer within {} s", limit.count());
  for (const auto& host : allocation.hosts) {
    const auto answer = answers.find(host);
    auto report = answer == answers.end() ? Result<Report>(Error{.what = ""})
                                          : report_from_json(answer->second);
    if (report)
      merge(all, *std::move(report));
    else
      all.unanswered.emplace_back(host, report.error().what.empty()
                                            ? why_silent(host, output->err, silence)
                                            : report.error().what);
  }
  if (all.hosts.empty())
    return Error{ErrorKind::unavailable,
                 fmt::format("no node of job {} answered: {}", allocation.job_id,
                             why_silent("", output->err, silence)),
                 "all nodes need this dllaunch under the same path; --pid looks at one process"};
  drop_idle_rows(all);
  return all;
}

}  // namespace dllaunch
