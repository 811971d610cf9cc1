// Data sets of the CIFAR family: records of labels and 3x32x32 bytes in files of any length.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "trainer/data/datasets/dataset.hpp"

namespace dllaunch {

struct CifarFamily {
  std::string name;                      // "cifar10"
  std::string folder;                    // as the published archive calls it
  std::size_t label_bytes = 1;           // in front of a record's pixels
  std::size_t label_at = 0;              // which of them counts
  std::string train_files;               // "data_batch_*.bin": any number of them, or one name
  std::string validation_file;           //
  std::vector<std::string> class_names;  // label k is class_names[k]
};

/// Reads the files of `options.path`, or of the published archive's folder in it. Pixels stay in
/// the files. Training files follow each other by their number.
/// bad_request: which file is missing, empty or no whole number of records, and unless
/// `options.skip_bad` a label beyond the classes.
Result<std::unique_ptr<Dataset>> open_cifar_dataset(const CifarFamily& family,
                                                    const DatasetOptions& options);

}  // namespace dllaunch
