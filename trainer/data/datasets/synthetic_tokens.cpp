#include "trainer/data/datasets/synthetic_tokens.hpp"

#include <algorithm>

#include "support/random.hpp"

namespace dllaunch {
namespace {

class SyntheticTokens : public Dataset {
 public:
  explicit SyntheticTokens(const SyntheticTokensOptions& options)
      : options_(options),
        shape_{.channels = 1, .height = 1, .width = options.sequence},
        sample_key_(random_key(options.seed, "synthetic tokens")),
        follower_key_(random_key(options.seed, "synthetic followers")) {}

  const ImageShape& image_shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return no_names_; }
  int classes() const override { return options_.vocabulary; }
  int tokens() const override { return options_.sequence; }
  std::int64_t size(Split split) const override {
    return split == Split::train ? options_.samples
                                 : std::max<std::int64_t>(1, options_.samples / 10);
  }

  Result<std::int32_t> read(Split, std::int64_t, std::span<std::uint8_t>) const override {
    return Error{ErrorKind::bad_request, "this data set has tokens, not images", ""};
  }

  Result<Ok> read_tokens(Split split, std::int64_t index, std::span<float> ids,
                         std::span<std::int32_t> next) const override {
    // Validation samples continue the sequence after the training samples.
    const auto serial =
        static_cast<std::uint64_t>(split == Split::train ? index : options_.samples + index);
    const std::uint64_t key = random_bits(sample_key_, serial);
    std::uint64_t id = draw(random_bits(key, 0));
    for (std::size_t t = 0; t < ids.size(); ++t) {
      ids[t] = static_cast<float>(id);
      const std::uint64_t bits = random_bits(key, t + 1);
      id = draw(bits % 4 == 0 ? mix_bits(bits) : random_bits(follower_key_, id));
      next[t] = static_cast<std::int32_t>(id);
    }
    return Ok{};
  }

 private:
  /// Below a number that is drawn itself.
  std::uint64_t draw(std::uint64_t bits) const {
    const auto vocabulary = static_cast<std::uint64_t>(options_.vocabulary);
    return random_below(mix_bits(bits), random_below(bits, vocabulary) + 1);
  }

  SyntheticTokensOptions options_;
  ImageShape shape_;
  std::uint64_t sample_key_;
  std::uint64_t follower_key_;
  std::vector<std::string> no_names_;
};

}  // namespace

std::unique_ptr<Dataset> synthetic_tokens(const SyntheticTokensOptions& options) {
  return std::make_unique<SyntheticTokens>(options);
}

}  // namespace dllaunch
