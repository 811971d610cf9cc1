// Records in CIFAR's binary format.
#pragma once

#include <cstddef>
#include <string>

#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {

constexpr std::size_t cifar_pixels = std::size_t{3} * 32 * 32;

/// Returns records `first` .. `first` + `count` - 1. Record i has label i % classes after
/// `before_label`; its pixel p is (i * 31 + p) % 251.
inline std::string cifar_records(std::size_t first, std::size_t count, std::size_t classes = 10,
                                 const std::string& before_label = "") {
  std::string bytes;
  for (std::size_t i = first; i < first + count; ++i) {
    bytes += before_label;
    bytes += static_cast<char>(i % classes);
    for (std::size_t p = 0; p < cifar_pixels; ++p) bytes += static_cast<char>((i * 31 + p) % 251);
  }
  return bytes;
}

/// Writes three training files of 12, 7 and 1 images. The last by name is not the last by number.
inline void write_small_cifar10(const std::filesystem::path& folder) {
  write_text(folder / "data_batch_1.bin", cifar_records(0, 12));
  write_text(folder / "data_batch_2.bin", cifar_records(12, 7));
  write_text(folder / "data_batch_10.bin", cifar_records(19, 1));
  write_text(folder / "test_batch.bin", cifar_records(5, 4));
}

}  // namespace dllaunch
