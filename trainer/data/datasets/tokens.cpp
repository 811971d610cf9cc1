// Texts as token ids, in files of 16 bits an id (token_shard.hpp).
//
// Sample i of a shard are its tokens [i * sequence, (i + 1) * sequence], both included: what one
// sample predicts last, the next one reads first. Samples do not span shards; what is left at the
// end of one is not used. Files stay on disk.
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "support/random.hpp"
#include "trainer/data/datasets/dataset.hpp"
#include "trainer/data/datasets/token_files.hpp"
#include "trainer/data/datasets/token_shard.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr int usual_sequence = 1024;     // GPT-2's
constexpr int usual_vocabulary = 50257;  // GPT-2's
constexpr int most_ids = 1 << 16;

struct TokenSplit {
  std::vector<TokenShard> shards;
  std::vector<std::int64_t> ends;  // samples up to and including each shard

  std::int64_t samples() const { return ends.empty() ? 0 : ends.back(); }
};

Result<TokenSplit> open_split(const std::vector<fs::path>& files, int sequence) {
  TokenSplit split;
  for (const fs::path& file : files) {
    auto shard = TokenShard::open(file);
    if (!shard) return std::move(shard).error();
    const std::int64_t samples = (shard->tokens() - 1) / sequence;
    if (samples < 1) {
      return Error{ErrorKind::bad_request,
                   fmt::format("{}: ends at token {}, a sample needs {}", file.string(),
                               shard->tokens(), std::int64_t{sequence} + 1),
                   "use a smaller dataset.sequence"};
    }
    split.ends.push_back(split.samples() + samples);
    split.shards.push_back(*std::move(shard));
  }
  return split;
}

/// A corpus may have more shards than a process usually may have open files.
void allow_open_files(std::size_t more) {
  constexpr rlim_t others = 256;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(limit.rlim_max, more + others);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // if it fails, open() says what is missing
}

class Tokens : public Dataset {
 public:
  Tokens(TokenSplit train, TokenSplit validation, int sequence, int vocabulary)
      : train_(std::move(train)),
        validation_(std::move(validation)),
        shape_{.channels = 1, .height = 1, .width = sequence},
        vocabulary_(vocabulary) {}

  const ImageShape& image_shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return no_names_; }
  int classes() const override { return vocabulary_; }
  int tokens() const override { return shape_.width; }
  std::int64_t size(Split split) const override { return of(split).samples(); }

  Result<std::int32_t> read(Split, std::int64_t, std::span<std::uint8_t>) const override {
    return Error{ErrorKind::bad_request, "this data set has tokens, not images", ""};
  }

  Result<Ok> read_tokens(Split split, std::int64_t index, std::span<float> ids,
                         std::span<std::int32_t> next) const override {
    const TokenSplit& from = of(split);
    const auto end = std::ranges::upper_bound(from.ends, index);
    const auto at = static_cast<std::size_t>(end - from.ends.begin());
    const std::int64_t sample = index - (at == 0 ? 0 : from.ends[at - 1]);
    std::vector<std::uint16_t> read(ids.size() + 1);
    const std::int64_t first = sample * tokens();
    auto done = from.shards[at].read(first, read);
    if (done) done = from.shards[at].check_ids(first, read, vocabulary_);
    if (!done) return done;
    std::copy(read.begin(), read.end() - 1, ids.begin());
    std::copy(read.begin() + 1, read.end(), next.begin());
    return Ok{};
  }

  /// Each part is a share of every file, so that all ranks are ready at once.
  Result<Ok> check(int part, int parts) const override {
    if (vocabulary_ >= most_ids) return Ok{};
    for (const TokenSplit* split : {&train_, &validation_}) {
      for (const TokenShard& shard : split->shards) {
        const auto begin_of = [&](std::int64_t p) {
          return shard.tokens() / parts * p + shard.tokens() % parts * p / parts;
        };
        if (auto sound = shard.check_ids(begin_of(part), begin_of(part + 1), vocabulary_); !sound) {
          return with_skip_hint(std::move(sound).error());
        }
      }
    }
    return Ok{};
  }

  /// Names, sizes, and the first ids of each file.
  std::uint64_t listing_key(Split split) const override {
    std::uint64_t key = 0;
    for (const TokenShard& shard : of(split).shards) {
      std::vector<std::uint16_t> ids(static_cast<std::size_t>(tokens()));
      key = random_key(key, shard.path().filename().string());
      key = random_key(key, std::to_string(shard.tokens()));
      if (!shard.read(0, ids)) continue;
      key = random_key(key, {reinterpret_cast<const char*>(ids.data()), 2 * ids.size()});
    }
    return key;
  }

 private:
  const TokenSplit& of(Split split) const { return split == Split::train ? train_ : validation_; }

  TokenSplit train_;
  TokenSplit validation_;
  ImageShape shape_;
  int vocabulary_;
  std::vector<std::string> no_names_;
};

Result<std::unique_ptr<Dataset>> open_tokens(const DatasetOptions& options) {
  auto files = find_token_files(options.path);
  if (!files) return std::move(files).error();
  allow_open_files(files->train.size() + files->validation.size());
  const int sequence = options.sequence.value_or(usual_sequence);
  auto train = open_split(files->train, sequence);
  if (!train) return std::move(train).error();
  auto validation = open_split(files->validation, sequence);
  if (!validation) return std::move(validation).error();
  return std::unique_ptr<Dataset>(
      std::make_unique<Tokens>(*std::move(train), *std::move(validation), sequence,
                               options.classes.value_or(usual_vocabulary)));
}

}  // namespace

extern const DatasetEntry tokens_dataset;
const DatasetEntry tokens_dataset{"tokens",
                                  "token ids in `path`, uint16 *.bin shards as llm.c and nanoGPT "
                                  "write them; may exceed memory",
                                  true, open_tokens, "classes sequence"};

}  // namespace dllaunch
