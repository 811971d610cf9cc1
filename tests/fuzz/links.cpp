// What the hosts of a job say while their links are measured, what is said to them, and what
// earlier measurements left behind.
#include "launcher/base/split.hpp"
#include "launcher/links/link_history.hpp"
#include "launcher/links/link_messages.hpp"
#include "launcher/links/links_report.hpp"
#include "launcher/links/next_order.hpp"
#include "tests/fuzz/must_hold.hpp"

namespace {

using namespace dllaunch;

constexpr std::size_t hosts = 6;

/// A survey of nothing but replies as they come must still lead to a verdict.
void expect_a_verdict(LinkSurvey survey) {
  const auto order = next_order(survey, standing_of(survey));
  if (order)
    for (const auto& pull : order->pulls)
      must_hold(pull.to < hosts && pull.from < hosts, "an order is for hosts that there are");
  LinkMeasurement measured{.hosts = {"n1", "n2", "n3", "n4", "n5", "n6"}};
  measured.verdict = judge_links(survey);
  measured.survey = std::move(survey);
  PreflightReport report;
  for (const auto& host : measured.hosts) report.nodes.push_back({.node = host});
  add_links(report, measured, {});
  must_hold(report.exclude.size() <= hosts, "none is left out twice");
  must_hold(!render_links(measured, {}).empty(), "there is a table");
  must_hold(to_json(measured, {}).is_object(), "there is a document");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = text_of(data, size);
  LinkSurvey survey{.hosts = hosts};
  for (const auto line : split_lines(text)) {
    if (survey.done.size() > 200) break;
    if (const auto call = link_call_from(line, hosts)) {
      auto again = to_line(*call);
      must_hold(!again.empty() && again.back() == '\n', "a call is a line");
      again.pop_back();
      must_hold(link_call_from(again, hosts).has_value(), "what was written is read");
      survey.done.push_back({.order = {.round = call->order % 2 == 0, .pulls = call->pulls}});
    }
    if (const auto reply = link_reply_from(line, hosts)) {
      must_hold(reply->host < hosts && reply->data.pull.from < hosts, "a host that there is");
      auto again = to_line(*reply);
      must_hold(again.size() <= 400, "a reply is short");
      again.pop_back();
      must_hold(link_reply_from(again, hosts).has_value(), "what was written is read");
      if (survey.done.empty()) survey.done.push_back({});
      if (!reply->door) survey.done.back().pulled.push_back(reply->data);
    }
  }
  expect_a_verdict(std::move(survey));
  const auto task = link_task_from(text);
  must_hold(task || !task.error().what.empty(), "the refusal says what is wrong");
  const auto past = past_links_from(text);
  must_hold(past.size() <= 50, "the past is bounded");
  const auto baseline = baseline_of(past, {.hosts = hosts, .gbit_per_s = 1, .us = 1});
  must_hold(baseline.measurements <= past.size(), "only what there was counts");
  return 0;
}
