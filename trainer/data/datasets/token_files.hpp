// Which files of tokens a path means: training shards, and validation shards by their names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct TokenFiles {
  std::vector<std::filesystem::path> train;  // in the order of their names
  std::vector<std::filesystem::path> validation;
};

/// A name's words are parted by `_`, `-` and `.`. The last word that is `train` makes a file one
/// for training, the last that is `val`, `valid` or `validation` one for validation, as in
/// fineweb_train_000001.bin, fineweb_val_000000.bin (llm.c), train.bin and val.bin (nanoGPT).
///
/// A folder: its files *.bin of either kind. A pattern (`*` and `?` in the last part): the matching
/// files but those for validation. A file: it. Of the latter two, validation shards are the *.bin
/// beside them whose names begin alike up to that word. None is no error. bad_request: no training
/// shard.
Result<TokenFiles> find_token_files(const std::string& path);

/// Whether the last part of the path has a `*` or a `?`.
bool is_file_pattern(const std::string& path);

}  // namespace dllaunch
