#include "trainer/parameters/init_from.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "trainer/graph/name_patterns.hpp"
#include "trainer/tensors/tensor_values.hpp"

namespace dllaunch {
namespace {

/// Returns "missing: a, b and 7 more", short enough that all kinds together fit on a screen.
std::string first_of(std::string_view kind, const std::vector<std::string>& items) {
  constexpr std::size_t most = 5;
  const std::size_t shown_items = std::min(items.size(), most);
  std::string text = fmt::format(
      "{}: {}", kind,
      fmt::join(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(shown_items), ", "));
  if (items.size() > most) text += fmt::format(" and {} more", items.size() - most);
  return text;
}

/// Names grouped by what is wrong with them.
struct Misfits {
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  std::vector<std::string> unfit;   // wrong shape or type, with both
  std::vector<std::string> layers;  // layers of those, without duplicates: "fc"

  bool none() const { return missing.empty() && unexpected.empty() && unfit.empty(); }

  void add_unfit(const Tensor& theirs, const Tensor& ours) {
    unfit.push_back(theirs.shape != ours.shape
                        ? fmt::format("{} is {}, this run needs {}", shown_name(ours.name),
                                      shown_shape(theirs.shape), shown_shape(ours.shape))
                        : fmt::format("{} is {}, this run needs {}", shown_name(ours.name),
                                      to_string(theirs.type), to_string(ours.type)));
    const std::string layer = ours.name.substr(0, ours.name.rfind('.'));
    if (std::ranges::find(layers, layer) == layers.end()) layers.push_back(layer);
  }

  Error error() const {
    std::vector<std::string> parts;
    if (!missing.empty()) parts.push_back(first_of("missing", missing));
    if (!unexpected.empty()) parts.push_back(first_of("unexpected", unexpected));
    if (!unfit.empty()) parts.push_back(first_of("unfit", unfit));
    constexpr std::size_t few = 3;
    const bool classifier = missing.empty() && unexpected.empty() && layers.size() <= few;
    return {ErrorKind::bad_request, fmt::format("{}", fmt::join(parts, "; ")),
            classifier
                ? fmt::format("train.init_skip: [{}] skips it and initialises it from the seed",
                              fmt::join(layers, ", "))
                : "names listed in train.init_skip are skipped"};
  }
};

bool fits(const Tensor& theirs, const Tensor& ours) {
  const bool rounds = theirs.type == DType::i64 && ours.type != DType::i64;
  return theirs.shape == ours.shape && !rounds;
}

std::vector<std::string> names_of(std::span<const Tensor> model, std::span<const Tensor> file) {
  std::vector<std::string> names;
  for (const Tensor& tensor : model) names.push_back(tensor.name);
  for (const Tensor& tensor : file) names.push_back(tensor.name);
  return names;
}

std::string line_about(const std::filesystem::path& file, const TakenTensors& tensors) {
  std::string line = fmt::format("weights from {}: {} tensors", file.string(), tensors.taken);
  if (tensors.left_out.empty()) return line;
  return line + first_of(", not of them", tensors.left_out);
}

/// Hugging Face stores GPT-2 without its head: names lack "transformer.", and each layer has its
/// mask, a constant. Files with the head repeat the shared weight as lm_head.weight.
void name_as_with_head(const std::vector<Tensor>& model, std::vector<Tensor>& file) {
  constexpr std::string_view prefix = "transformer.";
  const auto has = [](const std::vector<Tensor>& tensors, std::string_view name) {
    return std::ranges::find(tensors, name, &Tensor::name) != tensors.end();
  };
  if (!has(model, "transformer.wte.weight") || has(model, "lm_head.weight")) return;
  std::erase_if(file, [](const Tensor& tensor) {
    return tensor.name == "lm_head.weight" || tensor.name.ends_with(".attn.bias") ||
           tensor.name.ends_with(".attn.masked_bias");
  });
  if (!has(file, "wte.weight")) return;
  for (Tensor& tensor : file) tensor.name.insert(0, prefix);
}

}  // namespace

Result<TakenTensors> take_tensors(std::vector<Tensor>& model, std::vector<Tensor> file,
                                  std::span<const std::string> skip) {
  name_as_with_head(model, file);
  if (const auto unmatched = unmatched_patterns(skip, names_of(model, file)); !unmatched.empty()) {
    return Error{ErrorKind::bad_request,
                 fmt::format("init_skip: neither the file nor the model has a {}",
                             fmt::join(unmatched, " or ")),
                 "the names begin with " + name_prefixes(names_of(model, file))};
  }
  std::map<std::string, Tensor*> theirs;
  Misfits misfits;
  for (Tensor& tensor : file) {
    if (!is_selected(skip, tensor.name)) theirs.emplace(tensor.name, &tensor);
  }
  TakenTensors result;
  std::vector<std::pair<Tensor*, Tensor*>> pairs;
  for (Tensor& ours : model) {
    const auto found = theirs.find(ours.name);
    if (is_selected(skip, ours.name)) {
      result.left_out.push_back(ours.name);
    } else if (found == theirs.end()) {
      if (ours.type != DType::i64) misfits.missing.push_back(ours.name);
    } else {
      if (!fits(*found->second, ours)) misfits.add_unfit(*found->second, ours);
      pairs.emplace_back(&ours, found->second);
      theirs.erase(found);
    }
  }
  for (const auto& [name, tensor] : theirs) misfits.unexpected.push_back(shown_name(name));
  if (!misfits.none()) return misfits.error();
  for (auto& [ours, from] : pairs) *ours = as_type(std::move(*from), ours->type);
  result.taken = pairs.size();
  return result;
}

Result<std::string> take_from(const std::filesystem::path& file, std::vector<Tensor> tensors,
                              std::span<const std::string> skip, std::vector<Tensor>& model) {
  auto taken = take_tensors(model, std::move(tensors), skip);
  if (!taken) return std::move(taken).error().within(file.string());
  return line_about(file, *taken);
}

}  // namespace dllaunch
