// Every reader of the trainer reads the worst of a size in time and memory that grow with it, or
// refuses it by the name of a limit. A reader without a row fails. (JPEGs promise many pixels in a
// few bytes: what these cost is known.)

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <set>
#include <span>
#include <string>

#include "tests/support/large_inputs.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/temporary_folder.hpp"
#include "trainer/config/config.hpp"
#include "trainer/data/datasets/idx.hpp"
#include "trainer/data/datasets/npy_header.hpp"
#include "trainer/integrity/drill.hpp"
#include "trainer/integrity/verdict.hpp"
#include "trainer/reports/csv.hpp"
#include "trainer/reports/peak_memory.hpp"
#include "trainer/tensors/safetensors.hpp"

namespace dllaunch {
namespace {

using Text = std::string_view;

void use(const auto&) {}

std::span<const std::uint8_t> bytes_of_text(Text text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// With the length that makes a header of it.
std::string with_length(Text header) {
  std::string text(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) text[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return text.append(header);
}

const SizedReader readers[] = {
    {"parse_config", [](Text t) { use(parse_config(t)); }, R"({|"k1":1,|"model":"resnet20"})"},
    {"parse_config", [](Text t) { use(parse_config(t)); },
     R"({"layers":[|{"kind":"dense","units":1},|{}]})"},
    {"parse_drill", [](Text t) { use(parse_drill(t, 3)); }, "|1:2,|3"},
    {"parse_npy_header", [](Text t) { use(parse_npy_header(bytes_of_text(t))); },
     "\x93NUMPY\x01|{'descr': '<f4', 'shape': (1,), }|\n"},
    {"parse_safetensors",
     [](Text t) { use(parse_safetensors(std::as_bytes(std::span<const char>(with_length(t))))); },
     R"({|"t1":{"dtype":"F32","shape":[1],"data_offsets":[0,0]},|"z":{}})"},
    {"parse_safetensors",
     [](Text t) { use(parse_safetensors(std::as_bytes(std::span<const char>(t)))); }, ""},
    {"peak_memory_in", [](Text t) { use(peak_memory_in(t)); }, "|VmHWM:\t1 kB\n|"},
    {"read_idx", [](Text t) { use(read_idx(bytes_of_text(t), 1)); }, ""},
    {"read_safetensors",
     [](Text t) {
       const TemporaryFolder folder;
       const auto path = folder.path() + "/a.safetensors";
       std::ofstream(path, std::ios::binary) << with_length(t);
       use(read_safetensors(path));
     },
     R"({|"t1":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},|
         "z":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})"},
    {"read_suspicion", [](Text t) { use(read_suspicion(t)); }, R"({"hosts":[|"n1",|"n"]})"},
    {"rows_before", [](Text t) { use(rows_before(t, "epoch,loss", 5)); }, "epoch,loss\n|1,2\n|"},
};

class LargeTrainerInputs : public testing::TestWithParam<SizedReader> {};

TEST_P(LargeTrainerInputs, AreReadWithinTheLimits) {
  if (under_a_sanitizer()) GTEST_SKIP() << "a sanitizer's memory and time are not the reader's";
  EXPECT_THAT(inputs_too_large_for(GetParam()), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Readers, LargeTrainerInputs, testing::ValuesIn(readers),
                         [](const auto& row) {
                           return std::string(row.param.name) + "_" + std::to_string(row.index);
                         });

TEST(TrainerReaders, EveryOneHasARow) {
  std::set<std::string_view> rows;
  for (const auto& reader : readers) rows.insert(reader.name);
  for (const auto& name : readers_in_headers("trainer"))
    EXPECT_TRUE(rows.contains(name)) << name << "() reads text: give it a row";
}

}  // namespace
}  // namespace dllaunch
