#include "launcher/rank/rendezvous/ask.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <random>

#include "support/network/proof.hpp"
#include "tests/launcher/rank/rendezvous/impostor.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

class Ask : public testing::Test {
 protected:
  Heard ask(const std::vector<int>& ports, std::chrono::seconds patience = 60s) const {
    std::vector<ServerAddress> servers;
    for (const int port : ports) servers.push_back({"127.0.0.1", port});
    return ask_servers(servers, inquiry_, std::chrono::steady_clock::now() + patience);
  }
  /// What the true server says to a question.
  std::string true_answer(const std::string& line) const {
    const auto body =
        unseal(inquiry_.secret, question_purpose, "", line.substr(0, line.find('\n')));
    if (!body) return "";
    return seal(inquiry_.secret, "answer", parse_question(*body, "s")->nonce, "true");
  }
  Impostor::Answer truth() const {
    return [this](const std::string& line) { return true_answer(line); };
  }

  const Inquiry inquiry_{.start_name = "s", .question = {.rank = 1}, .secret = new_secret()};
};

TEST_F(Ask, WhoProvesNothingIsNotBelieved) {
  const auto other = new_secret();
  Impostor bare(0, [](const std::string&) { return "evil\n"; });
  Impostor sealed(0, [&](const std::string& line) {
    const auto question = parse_question(body_of(line.substr(0, line.find('\n'))), "s");
    return seal(other, "answer", question ? question->nonce : "", "evil");
  });
  Impostor mirror(0, [](const std::string& line) { return line; });
  Impostor server(0, truth());
  const auto heard = ask({bare.port(), sealed.port(), mirror.port(), server.port()});
  EXPECT_EQ(heard.answer, "true");
  EXPECT_EQ(bare.heard().size(), 1u);
  EXPECT_EQ(bare.heard()[0].find(inquiry_.secret), std::string::npos) << "it is never shown";
  EXPECT_EQ(sealed.heard().size(), 1u);
}

TEST_F(Ask, AnAnswerToAnotherQuestionIsNoAnswer) {
  std::mutex mutex;
  std::string first;
  // The first time it passes on what it sniffed at the true server, then the same again.
  Impostor replayer(0, [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    if (first.empty()) first = true_answer(line);
    return first;
  });
  EXPECT_EQ(ask({replayer.port()}).answer, "true");
  const auto again = ask({replayer.port()});
  EXPECT_EQ(again.answer, "");
  EXPECT_EQ(again.unproven, "127.0.0.1:" + std::to_string(replayer.port()));
}

TEST_F(Ask, ASilentServerDelaysNoOther) {
  std::vector<std::unique_ptr<Impostor>> silent;
  std::vector<int> ports;
  for (int i = 0; i < 8; ++i) {
    silent.push_back(std::make_unique<Impostor>(0));
    ports.push_back(silent.back()->port());
  }
  Impostor server(0, truth());
  ports.push_back(server.port());
  EXPECT_EQ(ask(ports).answer, "true");
  ports.pop_back();
  const auto nothing = ask(ports, 3s);
  EXPECT_EQ(nothing.answer, "");
  EXPECT_NE(nothing.unproven, "");
}

TEST_F(Ask, DoesNotWaitWithoutAListener) {
  const int port = Impostor(0).port();
  const auto began = std::chrono::steady_clock::now();
  const auto heard = ask({port, port, port});
  EXPECT_EQ(heard.answer + heard.unproven, "");
  EXPECT_EQ(ask_servers({{"no-such-name.invalid", 1}}, inquiry_, began + 60s).answer, "");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 50s);
}

// Whatever bytes come, they are read to a bound and not believed.
TEST_F(Ask, AnyBytesAreReadAndNoneBelieved) {
  std::mt19937 random(11);
  std::mutex mutex;
  Impostor babbler(0, [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    std::string bytes(random() % 300, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    auto almost = true_answer(line);
    almost[random() % (almost.size() - 1)] ^= 1;
    switch (random() % 4) {
      case 0:
        return bytes;
      case 1:
        return bytes + "\n";
      case 2:
        return almost;
      default:
        return std::string(100'000, 'x');
    }
  });
  for (int round = 0; round < 100; ++round) EXPECT_EQ(ask({babbler.port()}).answer, "");
}

}  // namespace
}  // namespace dllaunch
