#include "launcher/slurm/node_survey.hpp"

#include <unistd.h>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <thread>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/plain_query.hpp"
#include "support/network/sockets.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view marker = "dllaunch-doctor";
constexpr std::size_t piece_bytes = 400;

/// Removes and returns the next word and one blank after it.
std::string_view take_word(std::string_view& text) {
  const auto end = std::min(text.find(' '), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::optional<std::size_t> number_in(std::string_view word) {
  constexpr std::size_t most_pieces = 1 << 20;
  const auto number = parse_number<std::size_t>(word);
  return number && *number <= most_pieces ? number : std::nullopt;
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

/// The first line of srun's errors that names the host, else the first line, else `otherwise`. No
/// line names an empty host.
std::string why_silent(std::string_view host, std::string_view complaints,
                       const std::string& otherwise) {
  const auto lines = split_lines(complaints);
  const auto named = std::ranges::find_if(lines, [&](std::string_view line) {
    return !host.empty() && line.find(host) != std::string_view::npos;
  });
  if (named != lines.end()) return std::string(*named);
  const auto first = std::ranges::find_if(lines, [](auto line) { return !line.empty(); });
  return first == lines.end() ? otherwise : std::string(*first);
}

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// Whether the error of a connection says that the other end is away. This process may also lack
/// descriptors, or be forbidden to connect.
bool is_of_peer(int error) {
  constexpr std::array<int, 6> signs = {ECONNREFUSED, EHOSTUNREACH, ENETUNREACH,
                                        EHOSTDOWN,    ETIMEDOUT,    ECONNRESET};
  return std::ranges::find(signs, error) != signs.end();
}

/// Tries to connect to all at once; leaves those that do not accept, and returns how many of them
/// refuse. `unknown`: gets those of which a connection can say nothing.
std::ptrdiff_t keep_silent(std::vector<const SlurmNode*>& nodes, int default_port,
                           milliseconds limit, std::vector<const SlurmNode*>& unknown) {
  const auto until = Clock::now() + limit;
  std::vector<int> sockets;
  std::vector<int> errors;
  for (const auto* node : nodes) {
    const auto port = node->port > 0 ? node->port : default_port;
    const bool known = port > 0 && !node->address.empty();
    const auto addresses = known ? addresses_of(node->address, port) : std::vector<SocketAddress>();
    errno = 0;
    sockets.push_back(addresses.empty() ? -1 : begin_to_connect(addresses.front()));
    errors.push_back(errno);
  }
  std::vector<const SlurmNode*> silent;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    int connected = -1;
    if (sockets[i] >= 0) {
      connected = finish_connecting(sockets[i], milliseconds(milliseconds_until(until)));
      errors[i] = errno;
    }
    if (connected >= 0)
      ::close(connected);
    else
      (is_of_peer(errors[i]) ? silent : unknown).push_back(nodes[i]);
  }
  nodes = std::move(silent);
  return std::ranges::count(errors, ECONNREFUSED);
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
  for (const auto line : split_lines(output)) add_line(line, by_host);
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
    return Error{ErrorKind::bad_request, "SLURM_JOB_ID is set, but SLURM_JOB_NODELIST is not",
                 "run it inside the allocation, or `env -u SLURM_JOB_ID dllaunch doctor`"};
  return std::optional(Allocation{*job, *std::move(hosts)});
}

Result<Survey> survey_nodes(System& system, const std::vector<std::string>& hosts,
                            const OverlapStep& step, const std::vector<std::string>& command,
                            std::chrono::seconds patience) {
  const auto limit = step.limit.value_or(std::chrono::seconds(0));
  const auto output = system.run(argv_of(step, command), limit + patience);
  if (!output) return output.error();
  const auto silence = fmt::format("no answer within {} s", limit.count());
  auto documents = read_answers(output->out);
  Survey survey{.answers = {}, .complaint = why_silent("", output->err, silence)};
  for (const auto& host : hosts) {
    const auto found = documents.find(host);
    survey.answers.emplace_back(
        host, found == documents.end()
                  ? Result<Json>(
                        Error{ErrorKind::unavailable, why_silent(host, output->err, silence), ""})
                  : Result<Json>(std::move(found->second)));
  }
  return survey;
}

int slurmd_port(System& system, milliseconds limit) {
  const auto text = system.run(plain_query(system, {"scontrol", "show", "config"}), limit);
  return text ? parse_slurm_config(text->out).slurmd_port : 0;
}

std::optional<SilentNodes> silent_nodes(System& system, const std::vector<SlurmNode>& nodes,
                                        milliseconds limit) {
  constexpr std::size_t most_at_once = 64;  // descriptors
  constexpr milliseconds one_try(1000);
  constexpr milliseconds pause(250);
  const auto until = Clock::now() + limit;
  const bool asks = std::ranges::any_of(nodes, [](const auto& node) { return node.port == 0; });
  const int port = asks ? slurmd_port(system, limit) : 0;
  std::vector<const SlurmNode*> silent;
  std::vector<const SlurmNode*> unknown;
  std::ptrdiff_t refusing = 0;
  for (std::size_t first = 0; first < nodes.size(); first += most_at_once) {
    std::vector<const SlurmNode*> left;
    for (std::size_t i = first; i < std::min(nodes.size(), first + most_at_once); ++i)
      left.push_back(&nodes[i]);
    // A daemon that is being restarted refuses connections for a moment.
    while (true) {
      const auto refuse = keep_silent(left, port, one_try, unknown);
      if (left.empty() || Clock::now() >= until) {
        refusing += refuse;
        break;
      }
      std::this_thread::sleep_for(pause);
    }
    std::ranges::copy(left, std::back_inserter(silent));
  }
  std::ranges::copy_if(unknown, std::back_inserter(silent),
                       [](const SlurmNode* node) { return is_in_doubt(node->state); });
  SilentNodes found{.names = {}, .refuse = refusing == std::ssize(silent)};
  for (const auto& node : nodes)
    if (std::ranges::find(silent, &node) != silent.end()) found.names.push_back(node.name);
  if (found.names.empty() && asks && port == 0 && !unknown.empty()) return std::nullopt;
  return found;
}

}  // namespace dllaunch
