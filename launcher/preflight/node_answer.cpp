#include "launcher/preflight/node_answer.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "support/isolated_call.hpp"

namespace dllaunch {
namespace {

struct Look {
  const PreflightCheck* check = nullptr;
  std::string item = {};
};

std::vector<Look> looks_of(const NodeView& view, PreflightStage stage,
                           std::span<const PreflightCheck* const> checks) {
  std::vector<Look> looks;
  const auto& skip = view.request.skip;
  for (const auto* check : checks) {
    if (check->stage != stage || check->observe == nullptr ||
        std::ranges::find(skip, check->name) != skip.end())
      continue;
    const auto items = check->items == nullptr ? std::vector<std::string>{""} : check->items(view);
    for (const auto& item : items) looks.push_back({check, item});
  }
  return looks;
}

IsolatedCall call_for(const NodeView& view, const Look& look) {
  return {.work = [&view, look]() -> Result<std::string> {
            const auto seen = look.check->observe(view, look.item);
            if (!seen) return seen.error();
            return seen->dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
          },
          .deadline = look.check->limit,
          .bounded_memory = look.check->bounded_memory};
}

Sight sight_of(const NodeView& view, const Look& look, const Result<std::string>& text) {
  Sight sight{.node = view.node, .item = look.item};
  if (!text) {
    sight.trouble = text.error().what;
    return sight;
  }
  sight.seen = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!sight.seen.is_object()) {
    sight.seen = nullptr;
    sight.trouble = "what it saw cannot be read";
  }
  return sight;
}

Error no_answer(std::string_view what) {
  return {ErrorKind::bad_request, fmt::format("no node's answer: {}", what),
          "all nodes need the same dllaunch"};
}

}  // namespace

NodeAnswer observe_node(const NodeView& view, std::span<const PreflightCheck* const> checks) {
  NodeAnswer answer{.node = view.node};
  for (const auto stage :
       {PreflightStage::state, PreflightStage::gpu_speed, PreflightStage::cpu_speed}) {
    const auto looks = looks_of(view, stage, checks);
    std::vector<IsolatedCall> calls;
    calls.reserve(looks.size());
    for (const auto& look : looks) calls.push_back(call_for(view, look));
    const auto texts = isolated_calls(calls);
    for (std::size_t i = 0; i < looks.size(); ++i)
      answer.sights[std::string(looks[i].check->name)].push_back(
          sight_of(view, looks[i], texts[i]));
  }
  return answer;
}

Json to_json(const NodeAnswer& answer) {
  Json checks = Json::object();
  for (const auto& [name, sights] : answer.sights) {
    auto& list = checks[name] = Json::array();
    for (const auto& sight : sights)
      list.push_back({{"item", sight.item}, {"seen", sight.seen}, {"trouble", sight.trouble}});
  }
  return {{"node", answer.node}, {"checks", checks}};
}

Result<NodeAnswer> node_answer_from_json(const Json& document) {
  NodeAnswer answer{.node = text_of(document, "node")};
  if (answer.node.empty()) return no_answer("it has no name");
  const auto checks = document.find("checks");
  if (checks == document.end() || !checks->is_object()) return no_answer("it has no checks");
  for (const auto& [name, list] : checks->items()) {
    if (!list.is_array()) return no_answer(fmt::format("`{}` is no list", name));
    auto& sights = answer.sights[name];
    for (const auto& one : list) {
      if (!one.is_object() || !one.contains("seen")) return no_answer("a sight without `seen`");
      Sight sight{.node = answer.node, .item = text_of(one, "item")};
      sight.seen = one["seen"];
      sight.trouble = text_of(one, "trouble");
      if (sight.trouble.empty() && !sight.seen.is_object())
        sight.trouble = "what it saw cannot be read";
      sights.push_back(std::move(sight));
    }
  }
  return answer;
}

}  // namespace dllaunch
