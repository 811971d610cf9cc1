#include "launcher/nodes/sighting.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "launcher/base/split.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/json_fields.hpp"
#include "support/random.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_words = 300;
constexpr std::size_t longest_line = 65536;
constexpr std::string_view sum_key = R"(,"sum":")";
constexpr std::size_t sum_digits = 16;

std::string shortened_words(const std::string& text) {
  return std::string(first_bytes(printable(text), most_words));
}

auto as_words(std::string& text) {
  return as_text(text, shortened_words,
                 [](std::string& read) { return Result<std::string>(shortened_words(read)); });
}

/// Whether the line is as it was written, whoever wrote it.
bool is_whole(std::string_view line) {
  const std::size_t tail = sum_key.size() + sum_digits + 2;
  if (line.size() <= tail || line.size() > longest_line || !line.ends_with("\"}")) return false;
  const auto body = line.substr(0, line.size() - tail);
  return line.substr(body.size()) == fmt::format("{}{:016x}\"}}", sum_key, stable_hash(body));
}

bool is_finite(const NodeSighting& seen) {
  constexpr double latest = 1e11;  // beyond any valid clock, in Unix seconds
  constexpr double most = 1e18;
  return seen.time > 0 && seen.time < latest && std::abs(seen.value) < most &&
         std::abs(seen.of) < most;
}

/// Which lists of used nodes count. A short line can name 131,072 nodes.
class UsesWithinBounds {
 public:
  bool take(const NodeSighting& seen) {
    const auto [at, is_new] = lists_.try_emplace({seen.cluster, seen.nodes}, true);
    if (is_new) at->second = is_within(seen);
    return at->second;
  }

 private:
  bool is_within(const NodeSighting& seen) {
    if (listed_ >= most_listed_nodes) return false;
    const auto hosts = expand_hosts(seen.nodes);
    if (!hosts) return true;  // it names none
    listed_ += hosts->size();
    if (listed_ > most_listed_nodes ||
        nodes_.size() + hosts->size() > most_used_nodes + known(*hosts))
      return false;
    nodes_.insert(hosts->begin(), hosts->end());
    return true;
  }
  std::size_t known(const std::vector<std::string>& hosts) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(hosts, [this](const auto& host) { return nodes_.contains(host); }));
  }

  std::map<std::pair<std::string, std::string>, bool> lists_;
  std::unordered_set<std::string> nodes_;
  std::size_t listed_ = 0;
};

void leave_out_uses(ReadSightings& read) {
  UsesWithinBounds uses;
  std::vector<bool> is_left_out(read.all.size());
  for (std::size_t i = read.all.size(); i-- > 0;)
    is_left_out[i] = read.all[i].kind == SightingKind::used && !uses.take(read.all[i]);
  read.left_out = std::erase_if(read.all, [&](const NodeSighting& one) {
    return is_left_out[static_cast<std::size_t>(&one - read.all.data())];
  });
}

}  // namespace

template <typename Field>
void visit_fields(Field& field, NodeSighting& seen) {
  field.required("time", seen.time);
  field.required("kind", as_word(seen.kind, sighting_names));
  field.unless_empty("cluster", as_words(seen.cluster));
  field.required("nodes", seen.nodes);
  field.unless_empty("run", as_words(seen.run));
  field.unless_empty("value", seen.value);
  field.unless_empty("of", seen.of);
  field.unless_empty("what", as_words(seen.what));
  field.unless_empty("like", as_words(seen.like));
  field.unless_empty("words", as_words(seen.words));
}

std::string line_of(const NodeSighting& seen) {
  auto text = write_fields(seen).dump(-1, ' ', false, Json::error_handler_t::replace);
  text.pop_back();  // }
  return fmt::format("{}{}{:016x}\"}}\n", text, sum_key, stable_hash(text));
}

std::optional<NodeSighting> sighting_in(std::string_view line) {
  if (!is_whole(line)) return std::nullopt;
  const auto document = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  NodeSighting seen;
  if (!read_fields(document, seen).empty()) return std::nullopt;
  std::string kind;
  FieldReader(document, nullptr)("kind", kind);
  if (kind != sighting_names[static_cast<std::size_t>(seen.kind)]) return std::nullopt;
  if (seen.nodes.empty() || seen.nodes.size() > most_nodes_text || !is_finite(seen))
    return std::nullopt;
  seen.nodes = printable(seen.nodes);
  return seen;
}

ReadSightings sightings_in(std::string_view text) {
  ReadSightings read;
  std::set<std::string_view> known;
  for (const auto line : split_lines(text)) {
    if (line.empty()) continue;
    auto seen = sighting_in(line);
    if (!seen && !is_whole(line)) {
      ++read.damaged;
    } else if (known.insert(line).second) {
      if (seen)
        read.all.push_back(*std::move(seen));
      else
        read.newer.push_back(std::string(line) + "\n");
    }
  }
  leave_out_uses(read);
  return read;
}

}  // namespace dllaunch
