// `dltrain --make-data`, started by `dllaunch data make`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/result.hpp"
#include "support/say.hpp"
#include "trainer/data/datasets/dataset.hpp"

namespace dllaunch {

struct MakeData {
  std::filesystem::path folder;  // created if absent
  DatasetOptions options;        // of the synthetic data set
  bool quiet = false;            // no progress lines
};

/// Parses FOLDER IMAGES SIZE CLASSES CHANNELS [quiet]. bad_request names the invalid one.
Result<MakeData> parse_make_data(const std::vector<std::string>& words);

/// Writes the synthetic data set in the format of data set `npy` and returns the `dataset:` line
/// for a job file. Files have temporary names, with a leading dot, until all are on disk.
/// bad_request: the files already exist. unavailable: the folder cannot be written; partial files
/// are removed.
Result<std::string> make_data(const MakeData& what, const Say& say);

}  // namespace dllaunch
