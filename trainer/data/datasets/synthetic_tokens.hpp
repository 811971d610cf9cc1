// Generated sequences of tokens that a network can learn: one id usually follows another.
#pragma once

#include <cstdint>
#include <memory>

#include "trainer/data/datasets/dataset.hpp"

namespace dllaunch {

struct SyntheticTokensOptions {
  int sequence = 1024;
  int vocabulary = 50257;
  std::int64_t samples = 1024;  // for training, plus a tenth as many for validation
  std::uint64_t seed = 1;
};

/// A sample depends only on (seed, index). Of four tokens, three are the one that always follows
/// the token before, drawn once per id, and one is drawn anew. Small ids are drawn more often, like
/// frequent words: an id is below k with a probability of about k / V * (1 + ln(V / k)).
std::unique_ptr<Dataset> synthetic_tokens(const SyntheticTokensOptions& options);

}  // namespace dllaunch
