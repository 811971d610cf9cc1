#include "trainer/tensors/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/trainer/checkpoints/mutation.hpp"
#include "tests/trainer/scratch_folder.hpp"
#include "tests/trainer/training/run_program.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

template <typename Real>
Tensor tensor(std::string name, Shape shape, const std::vector<Real>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {.name = std::move(name),
          .type = sizeof(Real) == 8 ? DType::f64 : DType::f32,
          .shape = std::move(shape),
          .data = {bytes.begin(), bytes.end()}};
}

std::string render(TensorFile file) {
  std::string text = render_safetensors_header(file);
  for (const auto& t : file.tensors) text += text_of(std::span<const std::byte>(t.data));
  return text;
}

Result<TensorFile> parse(const std::string& content) {
  return parse_safetensors(std::as_bytes(std::span(content)));
}

/// A tensor from raw bytes, for types that C++ lacks.
Tensor raw(std::string name, DType type, Shape shape, const std::string& bytes) {
  const auto data = std::as_bytes(std::span(bytes));
  return {std::move(name), type, std::move(shape), {data.begin(), data.end()}};
}

TensorFile every_type() {
  return {.tensors = {raw("half", DType::f16, {3}, std::string("\x00\x3c\x00\x40\x01\x00", 6)),
                      raw("brain", DType::bf16, {1, 2}, std::string("\x80\x3f\x00\xc0", 4)),
                      tensor<double>("double", {1}, {0.1}), tensor<float>("single", {1}, {2}),
                      raw("count", DType::i64, {}, std::string(8, '\x01'))},
          .metadata = {}};
}

TensorFile example() {
  return {.tensors = {tensor<float>("fc.weight", {2, 3}, {1, 2, 3, 4, 5, 6}),
                      tensor<float>("fc.bias", {2}, {-1, 0.5}), tensor<float>("scalar", {}, {7}),
                      tensor<float>("empty", {0, 4}, {})},
          .metadata = {{"format", "pt"}, {"name", "quote \" and \xc3\xa9"}}};
}

TEST(Safetensors, WritesTheLayout) {
  TensorFile file{.tensors = {tensor<float>("b", {1}, {1}), tensor<double>("a", {2}, {2, 3})},
                  .metadata = {}};
  const std::string text = render(file);
  const std::string json = R"({"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},)"
                           R"("b":{"dtype":"F32","shape":[1],"data_offsets":[16,20]}})";
  const std::size_t padded = (json.size() + 7) / 8 * 8;
  ASSERT_EQ(text.size(), 8 + padded + 20);
  EXPECT_EQ(static_cast<unsigned char>(text[0]), padded);
  EXPECT_EQ(text.substr(1, 7), std::string(7, '\0'));
  EXPECT_EQ(text.substr(8, padded), json + std::string(padded - json.size(), ' '));
  double first = 0;
  std::memcpy(&first, text.data() + 8 + padded, 8);
  EXPECT_EQ(first, 2);
}

TEST(Safetensors, AlignsIntegersAfterOddFloats) {
  Tensor count{.name = "z.count", .type = DType::i64, .shape = {}, .data = {}};
  count.data.assign(8, std::byte{3});
  TensorFile file{.tensors = {tensor<float>("a", {3}, {1, 2, 3}), count}, .metadata = {}};
  const std::string text = render(file);
  EXPECT_THAT(text, HasSubstr(R"("z.count":{"dtype":"I64","shape":[],"data_offsets":[0,8]})"));
  auto back = parse(text);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->tensors[0].name, "a");
  EXPECT_EQ(back->tensors[1].type, DType::i64);
  EXPECT_EQ(back->tensors[1].data, count.data);
}

TEST(Safetensors, ReadsWhatItWrites) {
  auto file = parse(render(example()));
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_EQ(file->metadata, example().metadata);
  ASSERT_EQ(file->tensors.size(), 4u);
  EXPECT_EQ(file->tensors[1].name, "fc.bias");
  EXPECT_EQ(file->tensors[2].shape, (Shape{2, 3}));
  EXPECT_EQ(file->tensors[2].data, example().tensors[0].data);
  EXPECT_EQ(file->tensors[3].shape, Shape{});
  EXPECT_TRUE(parse(render({})));
}

/// A file with this header and `bytes` bytes of data.
std::string with_header(const std::string& header, std::size_t bytes) {
  std::string text(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) text[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return text + header + std::string(bytes, 'x');
}

std::string entry(const std::string& name, const std::string& shape, const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}";
}

TEST(Safetensors, RejectsOtherLayouts) {
  const std::string whole = render(example());
  const std::string four = entry("a", "[1]", "[0,4]");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "truncated: no room for the header's length"},
      {whole.substr(0, 50), "truncated within the header"},
      {whole.substr(0, whole.size() - 1), "lie outside"},
      {whole + "x", "1 bytes at the end belong to no tensor"},
      {std::string(7, '\xff') + '\x7f' + whole, "a header of"},
      {with_header("", 0), "does not begin with {"},
      {with_header("[]", 0), "does not begin with {"},
      {with_header("{\"a\":", 0), "the header is not a JSON object"},
      {with_header("{" + four + "," + four + "}", 4), "has the key 'a' twice"},
      {with_header("{" + entry("a", "[1]", "[4,8]") + "}", 8), "'a' leaves a hole"},
      {with_header("{" + four + "," + entry("b", "[2]", "[0,8]") + "}", 8), "overlaps"},
      {with_header("{" + four + "," + entry("b", "[1]", "[2,6]") + "}", 6), "'b' overlaps"},
      {with_header("{" + entry("a", "[2]", "[0,4]") + "}", 4), "does not fill 4 bytes"},
      {with_header("{" + entry("a", "[1]", "[4,0]") + "}", 4), "lie outside"},
      {with_header("{" + entry("a", "[-1]", "[0,4]") + "}", 4), "is not a count"},
      {with_header("{" + entry("a", "[1e400]", "[0,4]") + "}", 4), "not a JSON object"},
      {with_header("{" + entry("a", "[1.5]", "[0,4]") + "}", 4), "is not a count"},
      {with_header("{" + entry("a", "[4294967296,4294967296,4]", "[0,0]") + "}", 0), "not fill 0"},
      {with_header("{" + entry("a", "[4611686018427387905]", "[0,4]") + "}", 4), "not fill 4"},
      {with_header("{" + entry("a", "[1]", "[0,4,4]") + "}", 4), "not a pair of offsets"},
      {with_header(R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]}})", 4), "dtype I8"},
      {with_header(R"({"a":{"dtype":"F32","shape":[1]}})", 4), "needs dtype, shape and"},
      {with_header(R"({"a":7})", 0), "tensor 'a': no object"},
      {with_header(R"({"__metadata__":{"a":1}})", 0), "has a value that is not a string"},
  };
  for (const auto& [content, what] : cases) {
    auto file = parse(content);
    ASSERT_FALSE(file) << what;
    EXPECT_THAT(file.error().what, HasSubstr(what));
  }
}

TEST(Safetensors, ManyTensorsAreReadOrRefusedByTheLimit) {
  const auto with_tensors = [](int count) {
    std::string header = "{";
    for (int i = 0; i < count; ++i)
      header += (i > 0 ? "," : "") +
                entry(fmt::format("t{}", i), "[1]", fmt::format("[{},{}]", 4 * i, 4 * i + 4));
    return with_header(header + "}", 4 * static_cast<std::size_t>(count));
  };
  const auto file = parse(with_tensors(60'000));
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_EQ(file->tensors.size(), 60'000u);
  const auto refused = parse(with_tensors(300'000));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("the header is too large: more than"));
}

TEST(Safetensors, ReadsEveryTypeThatWeightsHave) {
  auto file = parse(render(every_type()));
  ASSERT_TRUE(file) << file.error().what;
  auto expected = every_type().tensors;
  std::ranges::sort(expected, {}, &Tensor::name);
  ASSERT_EQ(file->tensors.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(file->tensors[i].name, expected[i].name);
    EXPECT_EQ(file->tensors[i].type, expected[i].type);
    EXPECT_EQ(file->tensors[i].shape, expected[i].shape);
    EXPECT_EQ(file->tensors[i].data, expected[i].data);
  }
}

TEST(Safetensors, NamesInErrorsAreShortAndPlain) {
  EXPECT_EQ(shown_name("layer1.0.conv1.weight"), "layer1.0.conv1.weight");
  EXPECT_EQ(shown_name("a\x1b[2J\n\xc3\xa9"), "a?[2J???");
  EXPECT_EQ(shown_name(std::string(100, 'x')), std::string(80, 'x') + "...");
  EXPECT_EQ(shown_shape({2, 3}), "[2,3]");
  EXPECT_EQ(shown_shape(Shape(9, 1)), "[9 extents]");
  const auto refused =
      parse(with_header("{" + entry(std::string(5000, 'n'), "[1]", "[4,8]") + "}", 8));
  ASSERT_FALSE(refused);
  EXPECT_LT(refused.error().what.size(), 200u);
}

TEST(Safetensors, SurvivesDamage) {
  for (const std::string& whole : {render(example()), render(every_type())}) {
    for (std::uint64_t seed = 0; seed < 20000; ++seed) {
      auto file = parse(mutated(whole, seed));
      if (!file) {
        EXPECT_FALSE(file.error().what.empty());
        continue;
      }
      for (const Tensor& each : file->tensors) {
        ASSERT_EQ(each.data.size(),
                  static_cast<std::size_t>(elements_of(each.shape)) * bytes_of(each.type));
      }
    }
  }
}

TEST(Safetensors, NamesAFileInAnotherFormat) {
  const ScratchFolder folder;
  EXPECT_THAT(read_safetensors(folder / "none").error().what, HasSubstr("none: No such file"));
  write_text(folder / "model.pth", "PK" + std::string(100, '\x7f'));
  const auto refused = read_safetensors(folder / "model.pth");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("model.pth: a header of"));
  EXPECT_THAT(refused.error().hint, HasSubstr("safetensors.torch.save_file"));
  write_text(folder / "w.safetensors", render(example()));
  EXPECT_EQ(read_safetensors(folder / "w.safetensors")->tensors.size(), 4u);
}

/// Files of 200 GB: one of zeros, one with a valid header and data that belongs to no tensor.
TEST(Safetensors, DoesNotReadAllOfAFileInAnotherFormat) {
  const ScratchFolder folder;
  constexpr std::uint64_t huge = 200'000'000'000;
  write_text(folder / "zeros.safetensors", "");
  write_text(folder / "longer.safetensors", render(example()));
  for (const char* name : {"zeros.safetensors", "longer.safetensors"}) {
    std::filesystem::resize_file(folder / name, huge);
    const auto refused = read_safetensors(folder / name);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_request);
    EXPECT_THAT(refused.error().what, HasSubstr(name));
  }
}

/// Reads the file with Python's struct and json, or with safetensors if installed.
constexpr const char* reader = R"(
import json, struct, sys
raw = open(sys.argv[1], "rb").read()
length, = struct.unpack("<Q", raw[:8])
assert raw[8:9] == b"{" and (8 + length) % 8 == 0
header = json.loads(raw[8:8 + length])
data, end = raw[8 + length:], 0
assert header.pop("__metadata__")["format"] == "pt"
for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
    begin, stop = entry["data_offsets"]
    assert begin == end, name
    end = stop
    values = struct.unpack("<%df" % ((stop - begin) // 4), data[begin:stop])
    print(name, entry["dtype"], entry["shape"], list(values))
assert end == len(data)
try:
    from safetensors import safe_open
    with safe_open(sys.argv[1], "np") as file:
        assert sorted(file.keys()) == sorted(header)
    print("safetensors agrees")
except ImportError:
    print("safetensors is not installed")
)";

TEST(Safetensors, PythonReadsTheSame) {
  if (run_program({"python3", "--version"}).exit_code != 0) GTEST_SKIP() << "no python3";
  const ScratchFolder folder;
  write_text(folder / "example.safetensors", render(example()));
  const auto python =
      run_program({"python3", "-c", reader, (folder / "example.safetensors").string()});
  EXPECT_EQ(python.exit_code, 0) << python.output;
  EXPECT_THAT(python.output, HasSubstr("fc.weight F32 [2, 3] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n"));
  EXPECT_THAT(python.output, HasSubstr("fc.bias F32 [2] [-1.0, 0.5]\n"));
  EXPECT_THAT(python.output, HasSubstr("scalar F32 [] [7.0]\n"));
  EXPECT_THAT(python.output, HasSubstr("empty F32 [0, 4] []\n"));
}

}  // namespace
}  // namespace dllaunch
