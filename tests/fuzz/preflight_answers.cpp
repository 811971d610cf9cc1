// What srun brings back from the nodes of a pre-flight.
#include "launcher/preflight/report.hpp"
#include "launcher/slurm/node_survey.hpp"
#include "tests/fuzz/must_hold.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  PreflightRequest request{.job_id = "1"};
  std::vector<NodeAnswer> answers;
  std::map<std::string, std::string> silent;
  for (const auto& [host, document] : read_answers(text_of(data, size))) {
    request.hosts.push_back(host);
    auto answer = node_answer_from_json(document);
    if (!answer) {
      must_hold(!answer.error().what.empty(), "the refusal says what is wrong");
      silent[host] = answer.error().what;
      continue;
    }
    const auto again = node_answer_from_json(to_json(*answer));
    must_hold(again && to_json(*again) == to_json(*answer), "what was written is read");
    answer->node = host;
    for (auto& [check, samples] : answer->samples)
      for (auto& sample : samples) sample.node = host;
    answers.push_back(*std::move(answer));
  }
  const auto report = judge_preflight(request, answers, silent);
  must_hold(report.nodes.size() == request.hosts.size(), "every node has its verdict");
  must_hold(report.exclude.size() <= request.hosts.size(), "none is left out twice");
  for (const auto& node : report.nodes)
    must_hold(!silent.contains(node.node) || !node.ok, "who is silent fails");
  const auto read = preflight_report_from_json(to_json(report));
  must_hold(read && to_json(*read) == to_json(report), "the report travels whole");
  must_hold(!render_preflight(report, true, true).empty(), "there is a verdict");
  return 0;
}
