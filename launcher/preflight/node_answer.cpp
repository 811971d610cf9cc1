#include "launcher/preflight/node_answer.hpp"

#include <algorithm>

#include "support/awake_clock.hpp"
#include "support/isolated_call.hpp"
#include "support/json_fields.hpp"

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

NodeSample sample_of(const NodeView& view, const Look& look, const Result<std::string>& text) {
  NodeSample sample{.node = view.node, .item = look.item};
  if (!text) {
    sample.trouble = text.error().what;
    return sample;
  }
  sample.seen = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!sample.seen.is_object()) {
    sample.seen = nullptr;
    sample.trouble = "unreadable observation";
  }
  return sample;
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
    const auto paused = AwakeClock::paused();
    auto texts = isolated_calls(calls);
    // A node that was suspended meanwhile would look slow.
    if (AwakeClock::paused() != paused) texts = isolated_calls(calls);
    for (std::size_t i = 0; i < looks.size(); ++i)
      answer.samples[std::string(looks[i].check->name)].push_back(
          sample_of(view, looks[i], texts[i]));
  }
  return answer;
}

template <typename Field>
void visit_fields(Field& field, NodeSample& sample) {
  field("item", sample.item);
  field("seen", sample.seen);
  field("trouble", sample.trouble);
  if constexpr (Field::reads)
    if (sample.trouble.empty() && !sample.seen.is_object())
      sample.trouble = "unreadable observation";
}

template <typename Field>
void visit_fields(Field& field, NodeAnswer& answer) {
  field.required("node", answer.node);
  field.required("checks", answer.samples);
}

Json to_json(const NodeAnswer& answer) {
  return write_fields(answer);
}

Result<NodeAnswer> node_answer_from_json(const Json& document) {
  NodeAnswer answer;
  auto problem = read_fields(document, answer);
  if (problem.empty() && answer.node.empty()) problem = "it has no name";
  if (!problem.empty())
    return Error{ErrorKind::bad_request, "no node's answer: " + problem,
                 "use the same dllaunch on all nodes"};
  for (auto& [name, samples] : answer.samples)
    for (auto& sample : samples) sample.node = answer.node;
  return answer;
}

}  // namespace dllaunch
