#include "launcher/slurm/host_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "launcher/os/posix_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using Hosts = std::vector<std::string>;

Hosts expanded(std::string_view text) {
  auto hosts = expand_hosts(text);
  if (!hosts) return {"error: " + hosts.error().what};
  return *hosts;
}

std::string problem(std::string_view text) {
  const auto hosts = expand_hosts(text);
  return hosts ? "none" : hosts.error().what;
}

TEST(HostList, ExpandsWhatSlurmWrites) {
  EXPECT_EQ(expanded(""), Hosts{});
  EXPECT_EQ(expanded("n1"), Hosts{"n1"});
  EXPECT_EQ(expanded("n1,login"), (Hosts{"n1", "login"}));
  EXPECT_EQ(expanded("n[1-3,7]"), (Hosts{"n1", "n2", "n3", "n7"}));
  EXPECT_EQ(expanded("n[1-2]-ib"), (Hosts{"n1-ib", "n2-ib"}));
  EXPECT_EQ(expanded("r[1-2]n[1-2]"), (Hosts{"r1n1", "r1n2", "r2n1", "r2n2"}));
  EXPECT_EQ(expanded(" n[1-2] ,\tx\n"), (Hosts{"n1", "n2", "x"}));
  EXPECT_EQ(expanded("[1-2]"), (Hosts{"1", "2"}));
  EXPECT_EQ(expanded("n1,n1"), (Hosts{"n1", "n1"})) << "duplicates are kept";
}

TEST(HostList, PadsToTheWidthOfTheFirstNumber) {
  EXPECT_EQ(expanded("n[08-10]"), (Hosts{"n08", "n09", "n10"}));
  EXPECT_EQ(expanded("n[8-10]"), (Hosts{"n8", "n9", "n10"}));
  EXPECT_EQ(expanded("nid[000099-000100]"), (Hosts{"nid000099", "nid000100"}));
  EXPECT_EQ(expanded("n[1,01,001]"), (Hosts{"n1", "n01", "n001"}));
}

TEST(HostList, RangesMayHaveSteps) {
  EXPECT_EQ(expanded("n[1-9:4]"), (Hosts{"n1", "n5", "n9"}));
  EXPECT_EQ(expanded("n[08-11:2]-ib"), (Hosts{"n08-ib", "n10-ib"}));
  EXPECT_EQ(expanded("r[1-3:2]n[1-2,4-8:2]"), (Hosts{"r1n1", "r1n2", "r1n4", "r1n6", "r1n8", "r3n1",
                                                     "r3n2", "r3n4", "r3n6", "r3n8"}));
  EXPECT_EQ(expanded("n[0-999999999999999999:999999999999999999]").size(), 2u);
  for (const auto* text : {"n[1-4:0]", "n[1-4:]", "n[1:2]", "n[1-4:2:2]", "n[:2]", "n[1-4:-1]"})
    EXPECT_NE(problem(text), "none") << text;
}

TEST(HostList, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(problem("n[1-3"), "host list 'n[1-3', position 2: this bracket is not closed");
  EXPECT_EQ(problem("n1]"), "host list 'n1]', position 3: a bracket closes that was not opened");
  EXPECT_EQ(problem("n[3-1]"), "host list 'n[3-1]', position 3: the range 3-1 runs backwards");
  EXPECT_EQ(problem("n[a]"),
            "host list 'n[a]', position 3: 'a' is not a number or a range of numbers");
  EXPECT_EQ(problem("n1,,n2"), "host list 'n1,,n2', position 4: a name is missing");
  EXPECT_EQ(problem("n1,"), "host list 'n1,', position 4: a name is missing after the comma");
  EXPECT_EQ(problem("n1 n2"), "host list 'n1 n2', position 4: a comma belongs between two names");
  for (const auto* text :
       {"n[]", "n[1,]", "n[-1]", "n[1-]", "n[[1]]", ",", "n[99999999999999999999]"})
    EXPECT_NE(problem(text), "none") << text;
}

TEST(HostList, IsBounded) {
  EXPECT_EQ(expanded("n[1-131072]").size(), max_hosts);
  for (const auto* text :
       {"n[0-131072]", "n[1-1000]x[1-1000]", "n[0-999999999999999999]", "n[1-100000],m[1-100000]"})
    EXPECT_NE(problem(text).find("more than 131072 hosts"), std::string::npos) << text;
  const std::string longest(255, 'n');
  EXPECT_EQ(expanded(longest).size(), 1u);
  for (const auto& text : {longest + "n", "n[1-131072]" + longest, longest + "[1]n"})
    EXPECT_NE(problem(text).find("a name longer than 255 characters"), std::string::npos) << text;
}

TEST(HostList, CompressesAsPeopleWrite) {
  EXPECT_EQ(compress_hosts(Hosts{}), "");
  EXPECT_EQ(compress_hosts(Hosts{"n1"}), "n1");
  EXPECT_EQ(compress_hosts(Hosts{"n1", "n2", "n3", "n7"}), "n[1-3,7]");
  EXPECT_EQ(compress_hosts(Hosts{"n08", "n09", "n10", "n11"}), "n[08-11]");
  EXPECT_EQ(compress_hosts(Hosts{"n9", "n10", "n010"}), "n[9-10,010]");
  EXPECT_EQ(compress_hosts(Hosts{"n1-ib", "n2-ib", "login", "m1"}), "n1-ib,n2-ib,login,m1");
  EXPECT_EQ(compress_hosts(Hosts{"n2", "n1"}), "n[2,1]");
}

TEST(HostList, RoundTripsAnyNames) {
  std::mt19937 random(1);
  const auto below = [&random](std::size_t n) { return random() % n; };
  const Hosts prefixes = {"n", "gpu-a", "", "r1c", "nid00"};
  const Hosts suffixes = {"", "", "-ib", ".cluster", "x"};
  for (int round = 0; round < 2000; ++round) {
    Hosts hosts;
    for (auto i = below(30); i > 0; --i) {
      const auto start = below(200);
      const auto width = below(4);
      auto digits = std::to_string(start);
      if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
      const auto& prefix = prefixes[below(5)];
      const auto& suffix = suffixes[below(5)];
      for (std::size_t run = 1 + below(4), k = 0; k < run; ++k) {
        auto number = std::to_string(start + k);
        if (number.size() < digits.size()) number.insert(0, digits.size() - number.size(), '0');
        hosts.push_back(prefix + number + suffix);
      }
      if (below(5) == 0) hosts.emplace_back("login");
      if (below(9) == 0) hosts.emplace_back("big12345678901234567890123");
    }
    const auto text = compress_hosts(hosts);
    ASSERT_EQ(expanded(text), hosts) << text;
  }
}

/// scontrol itself: a slurm.conf is all it needs, no daemon.
class AsSlurm : public testing::Test {
 protected:
  void SetUp() override {
    if (!PosixSystem(Console{}).find_program("scontrol")) GTEST_SKIP() << "no scontrol here";
    std::ofstream(folder_.path() + "/slurm.conf")
        << "ClusterName=c\nSlurmctldHost=localhost\nNodeName=localhost\n"
           "PartitionName=p Nodes=localhost\n";
  }
  std::string scontrol(const std::string& what, const std::string& list) {
    const auto output = PosixSystem(Console{}).run(
        {"env", "SLURM_CONF=" + folder_.path() + "/slurm.conf", "scontrol", "show", what, list},
        std::chrono::seconds(20));
    EXPECT_TRUE(output && output->exit_code == 0) << list;
    return output ? output->out : "";
  }
  Hosts hostnames(const std::string& list) {
    Hosts hosts;
    std::istringstream lines(scontrol("hostnames", list));
    for (std::string line; std::getline(lines, line);) hosts.push_back(line);
    return hosts;
  }

  TemporaryFolder folder_;
  std::mt19937 random_{3};
  std::size_t below(std::size_t n) { return random_() % n; }

  std::string bracket() {
    std::string items;
    for (auto count = 1 + below(3); count > 0; --count) {
      auto low = std::to_string(below(120));
      low.insert(0, below(3), '0');
      items += (items.empty() ? "" : ",") + low;
      if (below(2) == 0) items += "-" + std::to_string(std::stoi(low) + static_cast<int>(below(9)));
    }
    return "[" + items + "]";
  }
  std::string name() {
    const Hosts stems = {"n", "gpu-a", "", "nid00", "r7c"};
    switch (below(4)) {
      case 0:
        return "login" + std::to_string(below(30));
      case 1:
        return "rack" + bracket() + "n" + bracket();
      default:
        return stems[below(5)] + bracket();
    }
  }
};

constexpr int rounds_with_slurm = 150;

TEST_F(AsSlurm, ExpandsRandomListsAlike) {
  for (int round = 0; round < rounds_with_slurm; ++round) {
    auto list = name();
    for (auto more = below(3); more > 0; --more) list += "," + name();
    ASSERT_EQ(expanded(list), hostnames(list)) << list;
  }
}

// 22.05 counts three brackets in an order of its own; the hosts are the same.
TEST_F(AsSlurm, ExpandsThreeBracketsToTheSameHosts) {
  for (int round = 0; round < 20; ++round) {
    const auto list = "a" + bracket() + "b" + bracket() + "c" + bracket();
    auto ours = expanded(list);
    auto theirs = hostnames(list);
    std::sort(ours.begin(), ours.end());
    std::sort(theirs.begin(), theirs.end());
    ASSERT_EQ(ours, theirs) << list;
  }
}

TEST_F(AsSlurm, ReadsWhatSlurmCompresses) {
  for (int round = 0; round < rounds_with_slurm; ++round) {
    auto hosts = expanded(name() + "," + name());
    std::shuffle(hosts.begin(), hosts.end(), random_);
    std::string plain;
    for (const auto& host : hosts) plain += (plain.empty() ? "" : ",") + host;
    auto list = scontrol("hostlist", plain);
    ASSERT_EQ(expanded(list), hosts) << list;
  }
}

TEST_F(AsSlurm, SlurmReadsWhatWeCompress) {
  for (int round = 0; round < rounds_with_slurm; ++round) {
    auto hosts = expanded(name() + "," + name());
    if (below(2) == 0) std::shuffle(hosts.begin(), hosts.end(), random_);
    for (auto& host : hosts)
      if (below(20) == 0) host += "-ib";
    const auto list = compress_hosts(hosts);
    ASSERT_EQ(hostnames(list), hosts) << list;
  }
}

TEST(HostList, ASetIsInTheOrderThatPeopleCountIn) {
  EXPECT_EQ(compress_host_set({"n10", "login", "n2", "n1", "n2", "b7"}), "b7,login,n[1-2,10]");
  EXPECT_EQ(compress_host_set({}), "");
}

TEST(HostList, SurvivesAnyText) {
  std::mt19937 random(2);
  const std::string alphabet = "n1209[]-,,: \tx\x80";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (auto length = random() % 16; length > 0; --length)
      text += alphabet[random() % alphabet.size()];
    const auto hosts = expand_hosts(text);
    if (!hosts) {
      EXPECT_EQ(hosts.error().kind, ErrorKind::bad_request);
      continue;
    }
    ASSERT_EQ(expanded(compress_hosts(*hosts)), *hosts) << text;
  }
}

}  // namespace
}  // namespace dllaunch
