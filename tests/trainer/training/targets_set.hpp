// Small numpy data sets with several classes or numbers per image, derived from the pixels.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "support/random.hpp"
#include "tests/trainer/data/datasets/npy_bytes.hpp"
#include "tests/trainer/scratch_folder.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

constexpr int target_bands = 3;

/// Writes 12x12 images in three bands of 4 rows with different brightness. A band's class is
/// present if it is bright; its number is the brightness. `kind` is class_set or values.
inline void write_targets_split(const std::filesystem::path& folder, const std::string& name,
                                int images, TargetKind kind) {
  constexpr int side = 12;
  const std::uint64_t key = random_key(5, name);
  std::vector<float> pixels;
  std::vector<float> values;
  std::vector<std::uint8_t> sets;
  for (int i = 0; i < images; ++i) {
    std::array<double, target_bands> light{};
    for (std::size_t band = 0; band < light.size(); ++band) {
      const auto at = static_cast<std::uint64_t>(i) * target_bands + band;
      light[band] = 2 * random_unit(random_bits(key, at)) - 1;
      values.push_back(static_cast<float>(light[band]));
      sets.push_back(light[band] > 0 ? 1 : 0);
    }
    for (int pixel = 0; pixel < side * side; ++pixel) {
      const auto band = static_cast<std::size_t>(pixel / (side * side / target_bands));
      const auto at = static_cast<std::uint64_t>(i * side * side + pixel);
      const double noise = random_unit(random_bits(mix_bits(key), at)) - 0.5;
      pixels.push_back(static_cast<float>(light[band] + 0.2 * noise));
    }
  }
  const std::string count = std::to_string(images);
  write_text(folder / (name + "_images.npy"),
             npy_bytes(npy_header_text("<f4", "(" + count + ", 12, 12)"), raw_bytes(pixels)));
  const bool whole = kind == TargetKind::class_set;
  write_text(folder / (name + "_labels.npy"),
             npy_bytes(npy_header_text(whole ? "|u1" : "<f4", "(" + count + ", 3)"),
                       whole ? raw_bytes(sets) : raw_bytes(values)));
}

inline void write_targets_set(const std::filesystem::path& folder, TargetKind kind,
                              int images = 96) {
  write_targets_split(folder, "train", images, kind);
  write_targets_split(folder, "val", 20, kind);
}

/// Writes cubes of 7x7 pixels and 13 bands in two classes: bright in the lower or the upper bands.
inline void write_cubes(const std::filesystem::path& folder, const std::string& name, int cubes) {
  constexpr int bands = 13;
  const std::uint64_t key = random_key(9, name);
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  for (int cube = 0; cube < cubes; ++cube) {
    labels.push_back(cube % 2);
    for (int i = 0; i < 7 * 7 * bands; ++i) {
      const bool bright = (i % bands < bands / 2) == (labels.back() == 0);
      const auto at = static_cast<std::uint64_t>(cube * 7 * 7 * bands + i);
      values.push_back(static_cast<float>(random_unit(random_bits(key, at)) + (bright ? 0.7 : 0)));
    }
  }
  const std::string count = std::to_string(cubes);
  write_text(folder / (name + "_images.npy"),
             npy_bytes(npy_header_text("<f4", "(" + count + ", 7, 7, 13)"), raw_bytes(values)));
  write_text(folder / (name + "_labels.npy"),
             npy_bytes(npy_header_text("<i4", "(" + count + ",)"), raw_bytes(labels)));
}

}  // namespace dllaunch
