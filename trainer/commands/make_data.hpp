// `dltrain --make-data`: what `dllaunch data make` becomes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/result.hpp"
#include "support/say.hpp"
#include "trainer/data/datasets/dataset.hpp"

namespace dllaunch {

struct MakeData {
  std::filesystem::path folder;  // made if absent
  DatasetOptions options;        // of the synthetic set
  bool quiet = false;            // no progress
};

/// FOLDER IMAGES SIZE CLASSES CHANNELS [quiet]. bad_request: says which one is wrong.
Result<MakeData> parse_make_data(const std::vector<std::string>& words);

/// Writes the synthetic data set as kind `npy` reads it, and returns the `dataset:` line for a job
/// file. Files have names that begin with a dot until all are whole on the disk.
/// bad_request: such files are there already. unavailable: the folder cannot be written; what was
/// written is gone then.
Result<std::string> make_data(const MakeData& what, const Say& say);

}  // namespace dllaunch
