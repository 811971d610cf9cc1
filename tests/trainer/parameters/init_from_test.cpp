#include "trainer/parameters/init_from.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

#include "runtime/communicators/opening/communicators.hpp"
#include "tests/trainer/backends/usable_backends.hpp"
#include "tests/trainer/scratch_folder.hpp"
#include "trainer/parameters/buffers.hpp"
#include "trainer/tensors/tensor_values.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor tensor(std::string name, Shape shape, DType type, double first) {
  std::vector<double> values(static_cast<std::size_t>(elements_of(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<double>(i);
  return {std::move(name), type, std::move(shape), bytes_of(values, type)};
}

std::vector<Tensor> model() {
  return {tensor("conv.weight", {2, 3}, DType::f32, 0),
          tensor("bn.weight", {2}, DType::f32, 10),
          tensor("bn.running_mean", {2}, DType::f32, 20),
          tensor("bn.num_batches_tracked", {}, DType::i64, 30),
          tensor("fc.weight", {4, 2}, DType::f32, 40),
          tensor("fc.bias", {4}, DType::f32, 50)};
}

/// The same names, with doubles from 100 on.
std::vector<Tensor> file() {
  std::vector<Tensor> tensors = model();
  for (Tensor& each : tensors) {
    const DType type = each.type == DType::i64 ? DType::i64 : DType::f64;
    each = tensor(each.name, each.shape, type, values_of(each)[0] + 100);
  }
  std::ranges::reverse(tensors);
  return tensors;
}

Result<TakenTensors> take(std::vector<Tensor>& ours, std::vector<Tensor> theirs,
                          const std::vector<std::string>& skip = {}) {
  return take_tensors(ours, std::move(theirs), skip);
}

void drop(std::vector<Tensor>& tensors, const std::string& name) {
  std::erase_if(tensors, [&](const Tensor& each) { return each.name == name; });
}

Tensor& named(std::vector<Tensor>& tensors, const std::string& name) {
  return *std::ranges::find(tensors, name, &Tensor::name);
}

TEST(TakeTensors, ByNameAndInTheModelsTypes) {
  auto tensors = model();
  const auto taken = take(tensors, file());
  ASSERT_TRUE(taken) << taken.error().what;
  EXPECT_EQ(taken->taken, 6u);
  EXPECT_TRUE(taken->left_out.empty());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(tensors[i].type, model()[i].type);
    EXPECT_EQ(values_of(tensors[i])[0], values_of(model()[i])[0] + 100) << tensors[i].name;
  }
}

TEST(TakeTensors, NamesAClassifierOfAnotherShapeWithAHint) {
  auto tensors = model();
  auto other = file();
  named(other, "fc.weight") = tensor("fc.weight", {1000, 2}, DType::f32, 0);
  named(other, "fc.bias") = tensor("fc.bias", {1000}, DType::f32, 0);
  const auto refused = take(tensors, other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what,
            "unfit: fc.weight is [1000,2], this run needs [4,2], "
            "fc.bias is [1000], this run needs [4]");
  EXPECT_EQ(refused.error().hint,
            "train.init_skip: [fc] skips it and initialises it from the seed");
  for (std::size_t i = 0; i < tensors.size(); ++i) EXPECT_EQ(tensors[i].data, model()[i].data);

  const auto taken = take(tensors, other, {"fc"});
  ASSERT_TRUE(taken) << taken.error().what;
  EXPECT_THAT(taken->left_out, ElementsAre("fc.weight", "fc.bias"));
  EXPECT_EQ(values_of(named(tensors, "fc.bias"))[0], 50);
  EXPECT_EQ(values_of(named(tensors, "conv.weight"))[0], 100);
}

TEST(TakeTensors, ReportsAllMismatchesAtOnce) {
  auto tensors = model();
  auto other = file();
  drop(other, "conv.weight");
  other.push_back(tensor("head.weight", {1}, DType::f32, 0));
  named(other, "bn.weight").type = DType::i64;
  const auto refused = take(tensors, other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what,
            "missing: conv.weight; unexpected: head.weight; "
            "unfit: bn.weight is i64, this run needs f32");
  EXPECT_EQ(refused.error().hint, "names listed in train.init_skip are skipped");
}

TEST(TakeTensors, CountsMayBeMissing) {
  auto tensors = model();
  auto other = file();
  drop(other, "bn.num_batches_tracked");
  const auto taken = take(tensors, other);
  ASSERT_TRUE(taken) << taken.error().what;
  EXPECT_EQ(values_of(named(tensors, "bn.num_batches_tracked"))[0], 30);
}

TEST(TakeTensors, SkippedNamesMayBeAnywhere) {
  auto tensors = model();
  auto other = file();
  drop(other, "bn.weight");
  other.push_back(tensor("head.weight", {1}, DType::f32, 0));
  EXPECT_TRUE(take(tensors, other, {"bn.weight", "head"}));
  const auto mistaken = take(tensors, file(), {"fc", "claasifier"});
  ASSERT_FALSE(mistaken);
  EXPECT_EQ(mistaken.error().what, "init_skip: neither the file nor the model has a claasifier");
  EXPECT_TRUE(mistaken.error().hint.starts_with("the names begin with ")) << mistaken.error().hint;
}

TEST(TakeTensors, TheReportIsBounded) {
  auto tensors = model();
  std::vector<Tensor> other = file();
  for (int i = 0; i < 10000; ++i) {
    other.push_back(tensor("n" + std::to_string(i), {}, DType::f32, 0));
    if (i < 20) other.back().name = "\x1b[2J\n" + std::string(100000, 'x') + std::to_string(i);
  }
  named(other, "fc.bias").shape = Shape(100000, 1);
  const auto refused = take(tensors, other);
  ASSERT_FALSE(refused);
  EXPECT_LT(refused.error().what.size(), 1500u);
  EXPECT_THAT(refused.error().what,
              HasSubstr(" and 9995 more; unfit: fc.bias is [100000 extents]"));
  EXPECT_THAT(refused.error().what, testing::Not(HasSubstr("\x1b")));
}

/// Random files: accepted if and only if names and shapes agree outside of what is skipped.
/// As in the file of openai-community/gpt2, and in one saved with its head.
TEST(TakeTensors, TakesHuggingFacesFilesOfGpt2) {
  const auto gpt2 = [] {
    return std::vector<Tensor>{tensor("transformer.wte.weight", {4, 2}, DType::f32, 0),
                               tensor("transformer.h.0.attn.c_attn.weight", {2, 6}, DType::f32, 10),
                               tensor("transformer.h.0.attn.c_attn.bias", {6}, DType::f32, 20)};
  };
  const std::vector<Tensor> headless = {tensor("wte.weight", {4, 2}, DType::f32, 100),
                                        tensor("h.0.attn.bias", {1, 1, 2, 2}, DType::f32, 1),
                                        tensor("h.0.attn.c_attn.weight", {2, 6}, DType::f32, 110),
                                        tensor("h.0.attn.c_attn.bias", {6}, DType::f32, 120)};
  std::vector<Tensor> whole = gpt2();
  for (Tensor& each : whole) each = tensor(each.name, each.shape, each.type, 100);
  whole.push_back(tensor("lm_head.weight", {4, 2}, DType::f32, 100));
  for (const std::vector<Tensor>& theirs : {headless, whole}) {
    std::vector<Tensor> ours = gpt2();
    const auto taken = take(ours, theirs);
    ASSERT_TRUE(taken) << taken.error().what;
    EXPECT_EQ(taken->taken, 3U);
    EXPECT_EQ(values_of(ours[0])[0], 100);
  }
  std::vector<Tensor> lacking = headless;
  lacking.pop_back();
  std::vector<Tensor> ours = gpt2();
  const auto refused = take(ours, lacking);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "missing: transformer.h.0.attn.c_attn.bias");
}

TEST(TakeTensors, IsAllOrNothing) {
  std::mt19937 random(6);
  int taken_files = 0;
  for (int round = 0; round < 3000; ++round) {
    auto other = file();
    const std::vector<std::string> skip =
        random() % 2 == 0 ? std::vector<std::string>{"fc"} : std::vector<std::string>{};
    bool fits = true;
    const std::size_t at = random() % other.size();
    const std::string name = other[at].name;
    const bool skipped = !skip.empty() && name.starts_with("fc.");
    switch (random() % 5) {
      case 0:
        fits = skipped || name == "bn.num_batches_tracked";
        other.erase(other.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        fits = skipped;
        other[at] = tensor(name, {7}, DType::f32, 0);
        break;
      case 2:
        fits = false;
        other.push_back(tensor("more" + std::to_string(round), {1}, DType::f32, 0));
        break;
      case 3:
        fits = skipped || name == "bn.num_batches_tracked";
        other[at] = as_type(other[at], DType::i64);
        break;
      default:
        other[at] = as_type(other[at], other[at].type == DType::i64 ? DType::f64 : DType::f32);
    }
    auto tensors = model();
    const auto taken = take(tensors, other, skip);
    ASSERT_EQ(static_cast<bool>(taken), fits) << round << (taken ? "" : taken.error().what);
    taken_files += fits ? 1 : 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ(tensors[i].name, model()[i].name);
      EXPECT_EQ(tensors[i].type, model()[i].type);
      EXPECT_EQ(tensors[i].shape, model()[i].shape);
      EXPECT_EQ(tensors[i].data.size(), model()[i].data.size());
      EXPECT_TRUE(taken || tensors[i].data == model()[i].data);
    }
  }
  EXPECT_GT(taken_files, 500);
}

class InitialiseFrom : public testing::TestWithParam<BackendEntry> {
 protected:
  InitialiseFrom() {
    GraphBuilder net("m", {2, 4, 4});
    net.add("conv", Conv2d{.channels = 3, .kernel = 3});
    net.add("bn", BatchNorm{});
    net.add("pool", GlobalAvgPool{});
    net.add("fc", Dense{.units = 2});
    graph_ = *std::move(net).finish();
    backend_ = *GetParam().open();
    executable_ = *backend_->compile(graph_, {.batch = 2, .threads = 1});
    arenas_ = std::make_unique<ParameterArenas>(*executable_, *communicator_,
                                                *find_optimizer("sgd"), OptimizerOptions{});
    arenas_->initialise(graph_, 1);
    initialise_buffers(graph_, *executable_);
  }

  std::vector<Tensor> all() const {
    auto tensors = arenas_->weights();
    for (Tensor& buffer : buffer_tensors(graph_, *executable_)) tensors.push_back(buffer);
    return tensors;
  }

  std::filesystem::path written(std::vector<Tensor> tensors) {
    TensorFile content{.tensors = std::move(tensors), .metadata = {{"format", "pt"}}};
    std::string text = render_safetensors_header(content);
    for (const Tensor& each : content.tensors) text += text_of(std::span(each.data));
    write_text(folder_ / "w.safetensors", text);
    return folder_ / "w.safetensors";
  }

  Result<std::string> start(const std::filesystem::path& path,
                            const std::vector<std::string>& skip = {}) {
    auto file = read_safetensors(path);
    if (!file) return std::move(file).error();
    auto tensors = all();
    auto line = take_from(path, std::move(file->tensors), skip, tensors);
    if (!line) return line;
    auto loaded = take_buffers(graph_, *executable_, tensors);
    if (loaded) loaded = arenas_->load_weights(tensors);
    return loaded ? std::move(line) : std::move(loaded).error();
  }

  Graph graph_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Executable> executable_;
  std::unique_ptr<Communicator> communicator_ = *open_communicator("solo", RankEnv{});
  std::unique_ptr<ParameterArenas> arenas_;
  ScratchFolder folder_;
};

TEST_P(InitialiseFrom, TakesWeightsAndStatistics) {
  auto given = all();
  for (Tensor& each : given) each = tensor(each.name, each.shape, each.type, 3);
  const auto line = start(written(given));
  ASSERT_TRUE(line) << line.error().what;
  EXPECT_EQ(*line, "weights from " + (folder_ / "w.safetensors").string() + ": 9 tensors");
  for (const Tensor& each : all()) {
    EXPECT_EQ(each.data, named(given, each.name).data) << each.name;
  }
}

TEST_P(InitialiseFrom, SkipsNames) {
  const auto before = arenas_->weights();
  auto given = all();
  for (Tensor& each : given) each = tensor(each.name, each.shape, each.type, 3);
  named(given, "fc.weight").shape = {3, 2};
  const auto line = start(written(given), {"fc.weight"});
  ASSERT_TRUE(line) << line.error().what;
  EXPECT_THAT(*line, HasSubstr("w.safetensors: 8 tensors, not of them: fc.weight"));
  auto old = before;
  for (const Tensor& each : arenas_->weights()) {
    auto& expected = each.name == "fc.weight" ? old : given;
    EXPECT_EQ(each.data, named(expected, each.name).data) << each.name;
  }
}

TEST_P(InitialiseFrom, ReportsErrorsInTheFile) {
  EXPECT_THAT(start(folder_ / "none").error().what, HasSubstr("none: No such file"));
  EXPECT_THAT(start(folder_.path()).error().what, HasSubstr("Is a directory"));
  write_text(folder_ / "model.pth", "PK\x03\x04" + std::string(1000, '\0'));
  const auto pickle = start(folder_ / "model.pth");
  ASSERT_FALSE(pickle);
  EXPECT_THAT(pickle.error().what, HasSubstr("model.pth: "));
  EXPECT_THAT(pickle.error().hint, HasSubstr("safetensors.torch.save_file"));
  auto given = all();
  drop(given, "fc.bias");
  EXPECT_THAT(start(written(given)).error().what, HasSubstr("w.safetensors: missing: fc.bias"));
}

INSTANTIATE_TEST_SUITE_P(Backends, InitialiseFrom, testing::ValuesIn(usable_backends()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace dllaunch
