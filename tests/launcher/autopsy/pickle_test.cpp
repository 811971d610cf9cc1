#include "launcher/autopsy/pickle.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "support/file_text.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

using namespace std::string_literals;

Json value_of(const std::string& bytes) {
  auto value = read_pickle(bytes);
  return value ? *std::move(value) : Json("refused");
}

/// By pickle.dumps(value, protocol) of Python 3.11.
TEST(Pickle, ValuesAreRead) {
  EXPECT_EQ(value_of("\x80\x02}q\x00."s).dump(), "{}");
  EXPECT_EQ(value_of("\x80\x02]q\x00(K\x01M\x00\x01J\xff\xff\xff\xff\x8a\x05\x00\x00\x00\x00\x01"
                     "\x8a\x01\xff\x8a\x00G?\xf8\x00\x00\x00\x00\x00\x00\x88\x89Ne."s),
            Json::parse("[1, 256, -1, 4294967296, -1, 0, 1.5, true, false, null]"));
  // {"a": (1,), 2: ("b", "a")}
  EXPECT_EQ(value_of("\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01"
                     "a\x94K\x01\x85\x94K\x02\x8c\x01"
                     "b\x94h\x01\x86\x94u."s),
            Json::parse(R"({"a": [1], "2": ["b", "a"]})"));
  EXPECT_EQ(value_of("\x80\x02]K\x07\x61}X\x01\x00\x00\x00xK\x08s\x86."s),
            Json::parse(R"([[7], {"x": 8}])"));
}

TEST(Pickle, NothingIsNamedMadeOrCalled) {
  EXPECT_EQ(value_of("cos\nsystem\n(S'echo'\ntR."), "refused");
  EXPECT_EQ(value_of("\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x93\x94."s), "refused");
  EXPECT_EQ(value_of("\x80\x02)R."), "refused");
}

TEST(Pickle, WhatIsDamagedIsRefused) {
  for (const std::string& bytes : {""s,
                                   "."s,
                                   "}"s,
                                   "e."s,
                                   "u."s,
                                   "(."s,
                                   "}}."s,
                                   "K"s,
                                   "X\xff\xff\xff\xffx."s,
                                   "h\x00."s,
                                   "](K\x01u."s,
                                   "}(K\x01u."s,
                                   "}(NK\x01u."s,
                                   "}a."s,
                                   "(]K\x01}s."s,
                                   "]((K\x01"s
                                   "a."s,
                                   "\x8a\x09"s
                                   "123456789."s,
                                   "\x80\x07}."s,
                                   "q\x00."s,
                                   "(\x87."s}) {
    EXPECT_EQ(value_of(bytes), "refused") << testing::PrintToString(bytes);
  }
}

TEST(Pickle, WhatIsKeptFilledIsFetched) {
  EXPECT_EQ(value_of("](K\x01\x85q\x00h\x00h\x00\x86"
                     "e."s),
            Json::parse("[[1], [[1], [1]]]"));
  EXPECT_EQ(value_of("]q\x00K\x01"
                     "ah\x00\x86."s),
            "refused")
      << "kept empty";
}

TEST(Pickle, AFewBytesFillNoMemory) {
  std::string many = "](X"s + "\x00\x00\x10\x00"s + std::string(1 << 20, 'x') + "q\x00"s;
  for (int i = 0; i < 150; ++i) many += "h\x00"s;
  EXPECT_EQ(value_of(many + "e."), "refused") << "150 MiB of text";
  std::string doubled = "X"s + "\x00\x00\x01\x00"s + std::string(1 << 16, 'x') + "\x85"s;
  for (int i = 0; i < 40; ++i) doubled += "q\x00h\x00\x86"s;
  EXPECT_EQ(value_of(doubled + "."), "refused") << "2^40 of it";
  std::string keys = "](}X"s + "\x00\x00\x10\x00"s + std::string(1 << 20, 'x') + "Nsq\x00"s;
  for (int i = 0; i < 150; ++i) keys += "h\x00"s;
  EXPECT_EQ(value_of(keys + "e."), "refused") << "150 MiB of keys";
  std::string kept = "]("s;
  for (int i = 0; i < 2'000'000; ++i) kept += "]\x94"s;
  EXPECT_EQ(value_of(kept + "e."), "refused") << "a node of the memo for each byte";
  EXPECT_EQ(value_of("](" + std::string(4'000'000, 'N') + "e."), "refused") << "values of a byte";
  EXPECT_EQ(value_of("]" + std::string(100, '\x85') + "."), "refused") << "too deep";
}

/// The same, in both forms that PyTorch writes.
TEST(Pickle, OfAFlightRecorderIsItsJson) {
  const std::string folder = DLLAUNCH_SOURCE_DIR "/tests/fixtures/flight_recorder/";
  const auto dump = read_file_text(folder + "late_2");
  const auto text = read_file_text(folder + "late_2.json");
  ASSERT_TRUE(dump && text);
  Json document = value_of(*dump);
  const Json same = Json::parse(*text);
  ASSERT_EQ(document["entries"].size(), same["entries"].size());
  for (std::size_t i = 0; i < same["entries"].size(); ++i) {
    for (const char* key : {"collective_seq_id", "process_group", "profiling_name", "retired",
                            "state", "is_p2p", "time_created_ns", "input_sizes"}) {
      EXPECT_EQ(document["entries"][i][key], same["entries"][i][key]) << key;
    }
  }
}

TEST(Pickle, OfAnyBytesIsAValueOrRefused) {
  const auto dump = read_file_text(DLLAUNCH_SOURCE_DIR "/tests/fixtures/flight_recorder/late_0");
  ASSERT_TRUE(dump);
  std::mt19937 random(7);
  for (int round = 0; round < rounds_here(5000); ++round) {
    std::string bytes = *dump;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % 4 == 0 ? random() % bytes.size() : bytes.size());
    value_of(bytes).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

}  // namespace
}  // namespace dllaunch
