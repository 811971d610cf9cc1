#include "launcher/daemon/client/settings.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(DaemonSettingsText, SurviveTheWayToTheDaemonsProgram) {
  const DaemonSettings settings{.foreground = true,
                                .port = 0,
                                .interval_s = 0.5,
                                .settle_s = 3,
                                .most_jobs = 7,
                                .most_submissions = 8,
                                .most_gpu_hours = 2.5,
                                .notify = "echo \"$1\" 'ü\n"};
  const auto read = parse_settings(settings_text(settings));
  ASSERT_TRUE(read);
  EXPECT_EQ(settings_text(*read), settings_text(settings));
  EXPECT_EQ(read->notify, settings.notify);
  EXPECT_EQ(settings_text(settings).find('\n'), std::string::npos);
}

TEST(DaemonSettingsText, WhatIsNoSettings) {
  for (const char* text : {"", "{", "[]", "null", "{}", R"({"foreground": 1})", "--help"})
    EXPECT_FALSE(parse_settings(text)) << text;
}

TEST(DaemonSettingsText, ListensOnThisMachineOnly) {
  EXPECT_EQ(*parse_listen("127.0.0.1:8080"), 8080);
  EXPECT_EQ(*parse_listen("127.0.0.1:0"), 0);
  for (const char* text : {"", "8080", "0.0.0.0:8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                           "127.0.0.1:-1", "127.0.0.1:80 ", "[::]:80", "127.0.0.1:8x"})
    EXPECT_FALSE(parse_listen(text)) << text;
}

}  // namespace
}  // namespace dllaunch
