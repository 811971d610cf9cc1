#include "launcher/base/terminal_text.hpp"
#include "tests/support/tier.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "launcher/base/utf8.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

TEST(TerminalText, SpellsOutWhatATerminalWouldObey) {
  EXPECT_EQ(terminal_text("one\n\ttwo ä ✓\n"), "one\n\ttwo ä ✓\n");
  EXPECT_EQ(terminal_text("\x1b]0;title\a\x1b[31m\x7f\r\b"),
            "\\x1b]0;title\\x07\\x1b[31m\\u007f\\r\\x08");
  EXPECT_EQ(terminal_text("\x9b\xff \xc2\x9b"
                          "31m"),
            "\\x9b\\xff \\u009b31m");
  for (const char* direction :
       {"\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069"}) {
    EXPECT_EQ(terminal_text(direction).substr(0, 2), "\\u") << direction;
  }
}

TEST(TerminalText, LetsOursThroughWhereTheyAreWanted) {
  const std::string ours = "\x1b[1;31merror\x1b[0m \x1b[2mdim\x1b[0m";
  EXPECT_EQ(terminal_text(ours, {.colors = true}), ours);
  EXPECT_EQ(terminal_text(ours).find('\x1b'), std::string::npos);
  EXPECT_EQ(terminal_text("\x1b[8mhidden", {.colors = true, .redraw = true}), "\\x1b[8mhidden");
  EXPECT_EQ(terminal_text("\r\x1b[Klive", {.redraw = true}), "\r\x1b[Klive");
  EXPECT_EQ(terminal_text("\r\x1b[Klive", {.colors = true}), "\\r\\x1b[Klive");
}

bool is_obeyed(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  const bool low = first < 0x20 && first != '\n' && first != '\t';
  const bool lone = character.size() == 1 && first >= 0x7f;
  const bool direction = character == "\u061c" || character == "\u200e" || character == "\u200f" ||
                         (character >= "\u202a" && character <= "\u202e") ||
                         (character >= "\u2066" && character <= "\u2069");
  return low || lone || direction || (first == 0xc2 && character < "\u00a0");
}

// Any bytes, most of them special: nothing that is obeyed is left, and JSON means what it did.
TEST(TerminalText, AnyTextIsHarmlessAndJsonKeepsItsMeaning) {
  const int rounds = full_tier() ? 100'000 : 3000;
  const std::string special =
      "\x1b[];Km01\x07\r\n\t\x7f\x9b\xc2\xe2\x80\xae\x81\xa6\xd8\x9c\xff\\\"";
  for (int round = 0; round < rounds; ++round) {
    std::mt19937 random(static_cast<unsigned>(round));
    std::string text;
    for (auto i = random() % 40; i > 0; --i)
      text += random() % 4 == 0 ? static_cast<char>(random()) : special[random() % special.size()];
    const auto shown = terminal_text(text);
    for (std::string_view rest = shown; !rest.empty();) {
      const auto length = utf8_length(rest);
      ASSERT_GT(length, 0u) << "seed " << round;
      ASSERT_FALSE(is_obeyed(rest.substr(0, length))) << "seed " << round;
      rest.remove_prefix(length);
    }
    ASSERT_EQ(terminal_text(shown), shown) << "seed " << round;
    ASSERT_TRUE(!is_terminal_text(text) || shown == text) << "seed " << round;

    const auto written = Json{{text, text}}.dump(2, ' ', false, Json::error_handler_t::replace);
    ASSERT_EQ(Json::parse(terminal_text(written), nullptr, false),
              Json::parse(written, nullptr, false))
        << "seed " << round;
  }
}

}  // namespace
}  // namespace dllaunch
