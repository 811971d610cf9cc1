// Every reader of the trainer reads the worst of a size in time and memory that grow with it, or
// refuses it by the name of a limit. A reader without a row fails. (JPEGs promise many pixels in a
// few bytes: what these cost is known.)

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "tests/support/large_inputs.hpp"
#include "tests/support/odd_files.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/temporary_folder.hpp"
#include "trainer/checkpoints/checkpoint.hpp"
#include "trainer/checkpoints/checkpoint_retention.hpp"
#include "trainer/config/config.hpp"
#include "trainer/data/datasets/dataset.hpp"
#include "trainer/data/datasets/idx.hpp"
#include "trainer/data/datasets/npy_header.hpp"
#include "trainer/data/datasets/token_files.hpp"
#include "trainer/integrity/drill.hpp"
#include "trainer/integrity/verdict.hpp"
#include "trainer/reports/csv.hpp"
#include "trainer/reports/peak_memory.hpp"
#include "trainer/tensors/safetensors.hpp"
#include "trainer/tuning/choices.hpp"

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

using Path = const std::string&;

/// A reader of a file, or of a folder in which every file is odd.
struct FileReader {
  std::string_view name;
  void (*read)(Path folder, Path file);
};

void open_data_sets(Path folder) {
  for (const auto& entry : datasets())
    if (entry.files) use(entry.open({.path = folder}));
}

void append_a_row(Path file) {
  constexpr std::string_view columns[] = {"loss"};
  const std::optional<double> numbers[] = {0.5};
  use(EpochTable(file, columns).append(1, numbers));
}

const FileReader file_readers[] = {
    {"append", [](Path folder, Path) { append_a_row(folder + "/metrics.csv"); }},
    {"datasets", [](Path folder, Path) { open_data_sets(folder); }},
    {"find_best_checkpoint", [](Path f, Path) { use(find_best_checkpoint(f, "loss", "")); }},
    {"find_newest_checkpoint", [](Path f, Path) { use(find_newest_checkpoint(f)); }},
    {"find_token_files", [](Path folder, Path) { use(find_token_files(folder)); }},
    {"read_checkpoint", [](Path f, Path) { use(read_checkpoint(f + "/step-00000001")); }},
    {"read_choices", [](Path folder, Path) { use(read_choices(folder)); }},
    {"read_config", [](Path, Path file) { use(read_config(file)); }},
    {"read_metrics", [](Path f, Path) { use(read_metrics(f + "/step-00000001")); }},
    {"read_safetensors", [](Path, Path file) { use(read_safetensors(file)); }},
};

class OddTrainerFiles : public testing::TestWithParam<OddFile> {};

TEST_P(OddTrainerFiles, EndNoReader) {
  const TemporaryFolder place;
  const auto file = place.path() + "/a.safetensors";
  for (const auto* name :
       {"a.safetensors", "choices.json", "metrics.csv", "step-00000001/state.json",
        "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
        "t10k-labels-idx1-ubyte", "data_batch_1.bin", "test_batch.bin", "train.bin", "val.bin",
        "train_images.npy", "train_labels.npy", "train/a/1.jpg"})
    put_in_place(GetParam(), place.path() + "/" + name);
  for (const auto& reader : file_readers)
    EXPECT_EQ(why_not_read([&] { reader.read(place.path(), file); }), "") << reader.name;
}

INSTANTIATE_TEST_SUITE_P(Readers, OddTrainerFiles, testing::ValuesIn(odd_files_to_put()),
                         [](const auto& row) { return "Kind" + std::to_string(row.index); });

TEST(TrainerFileReaders, EveryOneHasARow) {
  std::set<std::string_view> rows = {"read_whole_file"};  // of which the size is judged by others
  for (const auto& reader : file_readers) rows.insert(reader.name);
  for (const auto& name : file_readers_in_headers("trainer"))
    EXPECT_TRUE(rows.contains(name)) << name << "() reads a file: give it a row";
}

}  // namespace
}  // namespace dllaunch
