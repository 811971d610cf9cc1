#include "launcher/slurm/node_survey.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "support/network/sockets.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

Json answer_of(int ranks) {
  Json answer;
  for (int i = 0; i < ranks; ++i)
    answer["ranks"].push_back({{"rank", i}, {"job", "step 1.0"}, {"command", "app \xc3\xa4"}});
  return answer;
}

TEST(Answers, ArriveInAnyMixture) {
  const auto one = answer_of(30);
  const auto other = answer_of(50);
  const auto text = answer_lines("n1", one) + "srun: a word\n" + answer_lines("n2", other);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    EXPECT_LT(end - at, 500u) << "short enough for srun's buffers";
    lines.push_back(text.substr(at, end - at) + "\n");
    at = end + 1;
  }
  std::reverse(lines.begin(), lines.end());
  std::string mixed;
  for (const auto& line : lines) mixed += line;
  const auto answers = read_answers(mixed);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers.at("n1"), one);
  EXPECT_EQ(answers.at("n2"), other);
}

TEST(Answers, OnesThatAreNotWholeDoNotCount) {
  const auto text = answer_lines("n1", answer_of(30));
  const auto cut = text.substr(text.find('\n') + 1);
  EXPECT_TRUE(read_answers(cut).empty());
  EXPECT_TRUE(read_answers("").empty());
}

FakeSystem in_allocation() {
  FakeSystem system;
  system.variables = {{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "n[1-3]"}};
  return system;
}

TEST(Allocation, IsThatOfTheShell) {
  auto system = in_allocation();
  const auto found = observe_allocation(system);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->job_id, "12");
  EXPECT_EQ((*found)->hosts.size(), 3u);

  system.variables["SLURM_STEP_ID"] = "4294967290";
  EXPECT_TRUE(*observe_allocation(system)) << "salloc's own shell is no rank";
  system.variables["SLURM_STEP_ID"] = "0";
  EXPECT_FALSE(*observe_allocation(system));
  system.variables["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_FALSE(*observe_allocation(system)) << "a job of one rank";
  system.terminal.terminal_out = true;
  EXPECT_TRUE(*observe_allocation(system)) << "srun --pty bash";
  system.variables["SLURM_STEP_NUM_TASKS"] = "2";
  EXPECT_FALSE(*observe_allocation(system));
  FakeSystem outside;
  EXPECT_FALSE(*observe_allocation(outside));
  outside.variables["SLURM_JOB_ID"] = "12";
  EXPECT_FALSE(observe_allocation(outside)) << "a job without nodes";
}

TEST(SurveyNodes, ALineThatNamesTheHostComesFirst) {
  FakeSystem system;
  std::string complaints = "\nsrun: error: a\nsrun: error: n2: b\n";
  system.respond = [&](const std::vector<std::string>&) {
    return Result<CommandOutput>(CommandOutput{1, answer_lines("n1", answer_of(1)), complaints});
  };
  const auto ask = [&] {
    return survey_nodes(system, {"n1", "n2", "n3"}, {.limit = std::chrono::seconds(3)}, {"true"},
                        std::chrono::seconds(1));
  };
  auto survey = ask();
  ASSERT_TRUE(survey);
  EXPECT_EQ(survey->complaint, "srun: error: a");
  ASSERT_EQ(survey->answers.size(), 3U);
  EXPECT_EQ(*survey->answers[0].second, answer_of(1));
  EXPECT_EQ(survey->answers[1].second.error().what, "srun: error: n2: b");
  EXPECT_EQ(survey->answers[2].second.error().what, "srun: error: a");
  complaints.clear();
  survey = ask();
  EXPECT_EQ(survey->complaint, "no answer within 3 s");
}

TEST(SilentNodes, AreThoseWhoseDaemonsAcceptNoConnection) {
  const int listener = listen_on(0);
  ASSERT_GE(listener, 0);
  FakeSystem system;
  system.answers["scontrol show config"] = {
      0, "SlurmdPort              = " + std::to_string(port_of(listener)) + "\n", ""};
  const auto node = [](const char* name, const char* address, int port) {
    SlurmNode one;
    one.name = name;
    one.address = address;
    one.port = port;
    return one;
  };
  const std::vector<SlurmNode> nodes = {node("n1", "127.0.0.1", 0), node("n2", "127.0.0.1", 1),
                                        node("n3", "", 0), node("n4", "no-such-host.invalid", 1)};
  EXPECT_EQ(silent_nodes(system, nodes, std::chrono::milliseconds(10))->names,
            std::vector<std::string>{"n2"})
      << "of those without an address nothing is known";
  close(listener);
  EXPECT_EQ(silent_nodes(system, nodes, std::chrono::milliseconds(10))->names,
            (std::vector<std::string>{"n1", "n2"}));
  system.answers.clear();
  EXPECT_EQ(silent_nodes(system, nodes, std::chrono::milliseconds(10))->names,
            std::vector<std::string>{"n2"})
      << "where the others listen is unknown";
}

/// As while it is being restarted.
TEST(SilentNodes, ADaemonThatIsAwayForAMomentAnswers) {
  const int probe = listen_on(0);
  SlurmNode node;
  node.name = "n1";
  node.address = "127.0.0.1";
  node.port = port_of(probe);
  close(probe);
  int listener = -1;
  std::thread daemon([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    listener = listen_on(node.port);
  });
  FakeSystem system;
  EXPECT_EQ(silent_nodes(system, {node}, std::chrono::seconds(30))->names,
            std::vector<std::string>());
  daemon.join();
  close(listener);
}

}  // namespace
}  // namespace dllaunch
