#include "launcher/base/utf8.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(Utf8, KnowsWholeCharacters) {
  EXPECT_EQ(utf8_length("a"), 1u);
  EXPECT_EQ(utf8_length("ü"), 2u);
  EXPECT_EQ(utf8_length("✓x"), 3u);
  EXPECT_EQ(utf8_length("😀"), 4u);
  for (const char* broken : {"", "\xff", "\x80", "\xc3", "\xc3(", "\xe2\x9c", "\xc0\x80",
                             "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88"}) {
    EXPECT_EQ(utf8_length(broken), 0u) << broken;
  }
}

TEST(Utf8, CountsCharactersAndLoneBytes) {
  EXPECT_EQ(characters_in("größe ✓"), 7);
  EXPECT_EQ(characters_in("a\xff\xfe"), 3);
}

TEST(Utf8, NoCharacterIsCutInTwo) {
  EXPECT_EQ(first_bytes("abc", 3), "abc");
  EXPECT_EQ(first_bytes("abcd", 3), "abc");
  EXPECT_EQ(first_bytes("aü", 2), "a");
  EXPECT_EQ(first_bytes("aüb", 3), "aü");
  for (const std::size_t most : {1, 2, 3}) EXPECT_EQ(first_bytes("x😀", 1 + most), "x");
  EXPECT_EQ(first_bytes("a\xff\xff\xff", 2), "a\xff");
  EXPECT_EQ(first_bytes("✓", 0), "");
}

TEST(Utf8, QuotesWhatATerminalWouldObey) {
  EXPECT_EQ(in_quotes("a\nb\x1b[31m\xff\xc2\x9b"), "'a\\nb\\x1b[31m\\xff\\u009b'");
  EXPECT_EQ(in_quotes(std::string(61, 'x')), "'" + std::string(60, 'x') + "...'");
  EXPECT_EQ(printable("a\tb\r"), "a\tb\\r");
  EXPECT_EQ(printable("moc.\u202egnp\u2066\u200f\u061c\x7f"),
            "moc.\\u202egnp\\u2066\\u200f\\u061c\\u007f");
}

}  // namespace
}  // namespace dllaunch
