// `dltrain --make-data`: what `dllaunch data make` becomes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "topology/result.hpp"
#include "trainer/dataset/dataset.hpp"
#include "trainer/session.hpp"

namespace dllaunch {

struct MakeData {
  std::filesystem::path folder;  // made if absent
  DatasetOptions options;        // of the synthetic set
};

/// FOLDER IMAGES SIZE CLASSES CHANNELS. bad_request: says which one is wrong.
Result<MakeData> parse_make_data(const std::vector<std::string>& words);

/// Writes the synthetic data set as kind `npy` reads it. A file has a name that begins with a dot
/// until it is whole. bad_request: such files are there already. unavailable: the folder cannot be
/// written; what was written of the file is gone then.
Result<Ok> make_data(const MakeData& what, const Say& say);

}  // namespace dllaunch
