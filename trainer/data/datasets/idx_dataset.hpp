// Data sets of the MNIST family: four IDX files in a folder, the whole set in memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/data/datasets/dataset.hpp"

namespace dllaunch {

struct IdxFamily {
  std::string default_path;              // where the files are when the user does not say
  std::string hint;                      // how to get them
  std::vector<std::string> class_names;  // label k is class_names[k]
};

/// Reads {train,t10k}-{images-idx3,labels-idx1}-ubyte, each with or without .gz.
/// bad_request: which file is missing or damaged and how, images and labels that differ in number,
/// splits that differ in image size, a label beyond the classes.
Result<std::unique_ptr<Dataset>> open_idx_dataset(const IdxFamily& family,
                                                  const DatasetOptions& options);

}  // namespace dllaunch
