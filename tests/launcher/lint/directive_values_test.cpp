#include "launcher/lint/directive_values.hpp"

#include <gtest/gtest.h>

namespace dllaunch::lint {
namespace {

TEST(DirectiveValues, ThatSlurmTakes) {
  const std::pair<const char*, const char*> good[] = {{"nodes", "2"},
                                                      {"nodes", "2-4"},
                                                      {"nodes", "1k"},
                                                      {"ntasks", "16"},
                                                      {"time", "10"},
                                                      {"time", "1:30"},
                                                      {"time", "24:00:00"},
                                                      {"time", "2-0"},
                                                      {"time", "1-12:30"},
                                                      {"time", "INFINITE"},
                                                      {"mem", "0"},
                                                      {"mem", "64G"},
                                                      {"mem-per-cpu", "1500M"},
                                                      {"signal", "B:USR2@120"},
                                                      {"signal", "SIGTERM"},
                                                      {"signal", "10@60"},
                                                      {"gpus", "a100:4"},
                                                      {"gpus-per-node", "8"},
                                                      {"gpus", "a100:2,v100:1"},
                                                      {"ntasks-per-node", "0"},
                                                      {"partition", "any thing"}};
  for (const auto& [option, value] : good) EXPECT_EQ(fault_of_value(option, value), "") << value;
}

TEST(DirectiveValues, ThatSlurmRefuses) {
  const std::pair<const char*, const char*> bad[] = {
      {"nodes", "two"},        {"ntasks", "0"},      {"ntasks", "4x"}, {"ntasks", ""},
      {"cpus-per-task", "=4"}, {"time", "1h"},       {"time", ""},     {"mem", "4Q"},
      {"mem", "lots"},         {"signal", "USRX@1"}, {"signal", ""},   {"gpus", "x:"},
      {"open-mode", "rw"}};
  for (const auto& [option, value] : bad) {
    EXPECT_NE(fault_of_value(option, value), "") << option << "=" << value;
  }
}

TEST(DirectiveValues, InMegabytes) {
  EXPECT_EQ(megabytes("64G"), 65536);
  EXPECT_EQ(megabytes("64GB"), 65536);
  EXPECT_EQ(megabytes("2048K"), 2);
  EXPECT_EQ(megabytes("2049K"), 3);
  EXPECT_EQ(megabytes("1K"), 1);
  EXPECT_EQ(megabytes("1T"), 1048576);
  EXPECT_EQ(megabytes("512"), 512);
  EXPECT_EQ(megabytes("4.5G"), -1);
  EXPECT_EQ(megabytes(""), -1);
}

}  // namespace
}  // namespace dllaunch::lint
