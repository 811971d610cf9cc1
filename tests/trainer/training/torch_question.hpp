// Calls torch_networks.py with weights and images in one tensor file; the answer is another.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/scratch_folder.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "trainer/tensors/safetensors.hpp"

namespace dllaunch {

/// PyTorch's answer, by name.
class TorchAnswer {
 public:
  explicit TorchAnswer(const std::filesystem::path& file) {
    const std::string text = read_text(file);
    auto parsed = parse_safetensors(std::as_bytes(std::span(text)));
    EXPECT_TRUE(parsed) << parsed.error().what;
    if (parsed) file_ = *std::move(parsed);
  }

  std::vector<double> operator[](const std::string& name) const {
    const auto found = std::ranges::find(file_.tensors, name, &Tensor::name);
    if (found == file_.tensors.end()) {
      ADD_FAILURE() << "PyTorch gave no " << name;
      return {};
    }
    return found->type == DType::f32 ? values_of<float>(*found) : values_of<double>(*found);
  }

 private:
  template <typename T>
  static std::vector<double> values_of(const Tensor& tensor) {
    std::vector<T> values(tensor.data.size() / sizeof(T));
    std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    return {values.begin(), values.end()};
  }

  TensorFile file_;
};

class TorchQuestion {
 public:
  /// Weights, and the initial buffers.
  TorchQuestion(const Graph& graph, const Tensors& weights) {
    for (std::size_t p = 0; p < weights.size(); ++p) {
      add(graph.parameters[p].name, DType::f64, graph.parameters[p].shape, weights[p]);
    }
    for (const Buffer& buffer : graph.buffers) {
      const auto size = static_cast<std::size_t>(elements_of(buffer.shape));
      if (buffer.type == DType::i64) {
        add(buffer.name, DType::i64, buffer.shape, std::vector<std::int64_t>(size));
      } else {
        add(buffer.name, DType::f64, buffer.shape, std::vector<double>(size, buffer.initial));
      }
    }
  }

  void add_images(const Graph& graph, const std::vector<float>& pixels,
                  const std::vector<std::int32_t>& labels) {
    const auto count = static_cast<std::int64_t>(labels.size());
    Shape shape = graph.input_shape();
    shape.insert(shape.begin(), count / graph.labels());
    add("images", DType::f32, shape, pixels);
    add("labels", DType::i64, {count}, std::vector<std::int64_t>(labels.begin(), labels.end()));
  }

  /// `words` are the command of torch_networks.py, the model and further arguments. Returns nullptr
  /// without PyTorch, or if it fails, which fails the test.
  std::unique_ptr<TorchAnswer> ask(std::vector<std::string> words) {
    const ScratchFolder folder;
    std::string text = render_safetensors_header(file_);
    for (const Tensor& tensor : file_.tensors) text += text_of(std::span(tensor.data));
    write_text(folder / "question", text);
    words.insert(words.begin(), {"/usr/bin/python3",
                                 DLLAUNCH_SOURCE_DIR "/tests/trainer/training/torch_networks.py"});
    words.push_back((folder / "question").string());
    words.push_back((folder / "answer").string());
    const auto asked = run_program(words);
    if (asked.output.find("No module named 'torch'") != std::string::npos) return nullptr;
    EXPECT_EQ(asked.exit_code, 0) << asked.output;
    if (asked.exit_code != 0) return nullptr;
    return std::make_unique<TorchAnswer>(folder / "answer");
  }

 private:
  template <typename T>
  void add(std::string name, DType type, Shape shape, const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    file_.tensors.push_back(
        {std::move(name), type, std::move(shape), {bytes.begin(), bytes.end()}});
  }

  TensorFile file_;
};

}  // namespace dllaunch
