// Data sets in MNIST's format: four IDX files in a folder, held in memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/data/datasets/dataset.hpp"

namespace dllaunch {

struct IdxFamily {
  std::string default_path;              // used without dataset.path
  std::string hint;                      // how to obtain the files
  std::vector<std::string> class_names;  // label k is class_names[k]
};

/// Reads {train,t10k}-{images-idx3,labels-idx1}-ubyte, each with or without .gz. bad_request: a
/// missing or damaged file, different numbers of images and labels, different image sizes in the
/// splits, or a label out of range.
Result<std::unique_ptr<Dataset>> open_idx_dataset(const IdxFamily& family,
                                                  const DatasetOptions& options);

}  // namespace dllaunch
