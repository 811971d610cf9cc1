// Data sets in CIFAR's binary format: files of records with labels and 3x32x32 bytes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "trainer/data/datasets/dataset.hpp"

namespace dllaunch {

struct CifarFamily {
  std::string name;             // "cifar10"
  std::string folder;           // folder in the published archive
  std::size_t label_bytes = 1;  // before a record's pixels
  std::size_t label_at = 0;     // index of the label byte in use
  std::string train_files;      // one name, or a pattern: "data_batch_*.bin"
  std::string validation_file;
  std::vector<std::string> class_names;  // label k is class_names[k]
};

/// Reads the files in `options.path`, or in the published archive's folder there. Pixels stay in
/// the files. Training files are ordered by number. bad_request names a file that is missing, empty
/// or not a whole number of records, or, without `options.skip_bad`, a label out of range.
Result<std::unique_ptr<Dataset>> open_cifar_dataset(const CifarFamily& family,
                                                    const DatasetOptions& options);

}  // namespace dllaunch
