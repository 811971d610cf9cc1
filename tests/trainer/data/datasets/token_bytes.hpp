// Token files as llm.c and nanoGPT write them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/trainer/data/datasets/npy_bytes.hpp"

namespace dllaunch {

/// Headerless, as nanoGPT: ids first, first + step, ... modulo `modulo`.
inline std::string token_ids(int count, int first = 0, int step = 1, int modulo = 50257) {
  std::vector<std::uint16_t> ids;
  for (int i = 0; i < count; ++i) {
    ids.push_back(static_cast<std::uint16_t>((first + i * step) % modulo));
  }
  return raw_bytes(ids);
}

/// With llm.c's header, which counts the tokens of `ids`.
inline std::string with_token_header(const std::string& ids, std::uint32_t magic = 20240520,
                                     std::uint32_t version = 1) {
  std::vector<std::uint32_t> words(256);
  words[0] = magic;
  words[1] = version;
  words[2] = static_cast<std::uint32_t>(ids.size() / 2);
  return raw_bytes(words) + ids;
}

}  // namespace dllaunch
