#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "tests/trainer/checkpoints/mutation.hpp"
#include "tests/trainer/data/datasets/cifar_bytes.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "trainer/data/datasets/dataset.hpp"

namespace dllaunch {
namespace {

TEST(Cifar10, IsReadFromThePublishedLayout) {
  const std::filesystem::path shared =
      std::filesystem::path(DLLAUNCH_SOURCE_DIR) / "../shared/data/cifar-10-batches-bin";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << "no " << shared;
  DatasetOptions options;
  options.path = shared.string();
  auto dataset = find_dataset("cifar10")->open(options);
  ASSERT_TRUE(dataset) << dataset.error().what;
  EXPECT_EQ((*dataset)->size(Split::train), 10000);
  EXPECT_EQ((*dataset)->size(Split::validation), 2000);
  EXPECT_EQ((*dataset)->class_names().at(9), "truck");
  // The commonly quoted values for the 50,000.
  auto normalization = measure_normalization(**dataset);
  ASSERT_TRUE(normalization);
  const std::array mean{0.4914, 0.4822, 0.4465};
  const std::array std{0.2470, 0.2435, 0.2616};
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(normalization->mean[c], mean[c], 5e-3);
    EXPECT_NEAR(normalization->std[c], std[c], 5e-3);
  }
}

/// Writes pickles as Python 2 (the published ones) and Python 3 do, with row-major and column-major
/// arrays, from binary files.
constexpr const char* write_pickles = R"(
import numpy, pickle, pickletools, sys
def as_python2(data):
    out = bytearray(data)
    for operation, _, at in pickletools.genops(data):
        if operation.name in ('BINBYTES', 'BINUNICODE'): out[at] = ord('T')
        if operation.name == 'SHORT_BINBYTES': out[at] = ord('U')
    return bytes(out)
def content(path, order):
    records = numpy.fromfile(path, 'u1').reshape(-1, 3073)
    return {'batch_label': 'some', 'labels': [int(label) for label in records[:, 0]],
            'data': numpy.array(records[:, 1:], order=order),
            'filenames': ['%d.png' % i for i in range(len(records))]}
folder = sys.argv[1]
with open(folder + '/py/data_batch_1', 'wb') as out:
    out.write(as_python2(pickle.dumps(content(folder + '/data_batch_1.bin', 'C'), protocol=3)))
with open(folder + '/py/test_batch', 'wb') as out:
    pickle.dump(content(folder + '/test_batch.bin', 'F'), out, protocol=2)
)";

RunningProgram::Ended to_binary(const std::filesystem::path& from,
                                const std::filesystem::path& to) {
  return run_program({"/usr/bin/python3", DLLAUNCH_SOURCE_DIR "/scripts/cifar-to-binary",
                      from.string(), to.string()});
}

TEST(Cifar10, ThePythonVersionIsConvertedToTheBinaryOne) {
  if (run_program({"/usr/bin/python3", "-c", "import numpy"}).exit_code != 0) {
    GTEST_SKIP() << "no python3-numpy: scripts/install-deps --test";
  }
  const ScratchFolder folder;
  write_text(folder / "data_batch_1.bin", cifar_records(0, 40));
  write_text(folder / "test_batch.bin", cifar_records(5, 4));
  std::filesystem::create_directories(folder / "py");
  const auto written =
      run_program({"/usr/bin/python3", "-c", write_pickles, folder.path().string()});
  ASSERT_EQ(written.exit_code, 0) << written.output;
  const auto ended = to_binary(folder / "py", folder / "binary");
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_THAT(
      ended.output,
      testing::HasSubstr("dataset: {kind: cifar10, path: " + (folder / "binary").string() + "}"));
  for (const std::string name : {"data_batch_1.bin", "test_batch.bin"}) {
    EXPECT_EQ(read_text(folder / "binary" / name), read_text(folder / name)) << name;
  }
  const std::string sound = read_text(folder / "py/data_batch_1").substr(0, 20'000);
  std::filesystem::remove_all(folder / "binary");
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    write_text(folder / "py/data_batch_1", mutated(sound, seed));
    const auto refused = to_binary(folder / "py", folder / "binary");
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.output, testing::HasSubstr("py/data_batch_1: "));
    EXPECT_TRUE(std::filesystem::is_empty(folder / "binary"));
  }
}

/// A pickle can execute code. This one would create a file.
TEST(Cifar10, ThePythonVersionCannotExecuteCode) {
  if (run_program({"/usr/bin/python3", "--version"}).exit_code != 0) GTEST_SKIP() << "no python3";
  const ScratchFolder folder;
  const std::string made = (folder / "made").string();
  write_text(folder / "py/data_batch_1", "cos\nsystem\n(S'touch " + made + "'\ntR.");
  const auto refused = to_binary(folder / "py", folder / "binary");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.output, testing::HasSubstr("asks for os.system"));
  EXPECT_FALSE(std::filesystem::exists(made));
}

}  // namespace
}  // namespace dllaunch
