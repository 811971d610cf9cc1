// Lists the nodes that runs have seen, and judges each.
#include <fmt/core.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/launch/avoid_nodes.hpp"
#include "launcher/nodes/node_book.hpp"
#include "launcher/nodes/render_nodes.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/counted.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view nodes_examples =
    R"(  dllaunch nodes             nodes to avoid and to watch, with the reason, then good ones
  dllaunch nodes n[3-4]      these alone
  dllaunch nodes --all       every good node too
  dllaunch nodes --json      for programs
)";

struct NodesArguments {
  std::vector<std::string> nodes;
  std::string book;
  bool all = false;
  bool json = false;
};

Result<NodeBook> book_to_read(System& system, const NodesArguments& options) {
  if (!options.book.empty()) return NodeBook{options.book, /*own=*/false};
  const auto book = find_node_book(system, site_node_book(system));
  if (book) return *book;
  return Error{ErrorKind::bad_request, "no node book is kept: DLLAUNCH_NODE_BOOK is empty",
               "unset it, or name a file with --book FILE"};
}

Result<int> show_nodes(System& system, const NodesArguments& options) {
  const auto book = book_to_read(system, options);
  if (!book) return book.error();
  const auto read = read_node_book(*book);
  if (!read) return read.error();
  const double now = unix_seconds();
  auto judged = judge_nodes(read->all, now);
  if (!options.nodes.empty()) {
    std::set<std::string> wanted;
    for (const auto& list : options.nodes) {
      auto hosts = expand_hosts(list);
      if (!hosts) return std::move(hosts).error();
      wanted.insert(hosts->begin(), hosts->end());
    }
    std::erase_if(judged, [&](const auto& one) { return !wanted.contains(one.node); });
  }
  if (options.json) {
    const Json document = {{"book", book->path},
                           {"time", now},
                           {"damaged", read->damaged},
                           {"left_out", read->left_out},
                           {"nodes", to_json(judged)}};
    system.print(json_text(document));
    return exit_code::success;
  }
  if (read->left_out > 0)
    system.log(fmt::format(
        "dllaunch: warning: {} of runs are left out: the book names more than {} "
        "nodes, or {} in all lists\n",
        counted(static_cast<int>(read->left_out), "use"), most_used_nodes, most_listed_nodes));
  if (judged.empty()) {
    system.log("no run has seen a node yet, by " + book->path + "\n");
    return exit_code::success;
  }
  constexpr std::size_t most_good = 20;
  system.print(render_nodes(judged, now, options.all ? judged.size() : most_good));
  return exit_code::success;
}

CommandBody declare_nodes(CommandOptions& app) {
  auto options = std::make_shared<NodesArguments>();
  app.add_option("NODE", options->nodes, "only these nodes, or host lists");
  app.add_option("--book", options->book,
                 "the file [DLLAUNCH_NODE_BOOK, the cluster profile's node_book, else your own]")
      ->type_name("FILE");
  app.add_flag("--all", options->all, "all good nodes, not only 20");
  app.add_flag("--json", options->json, "one JSON document");
  return [options](System& system) { return show_nodes(system, *options); };
}

}  // namespace

extern const Command nodes_command;
const Command nodes_command{"nodes", "what your runs saw of each node, and which to avoid",
                            nodes_examples, declare_nodes, /*pages=*/true};

}  // namespace dllaunch
