#include "trainer/data/same_data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/communicators/same_table.hpp"

namespace dllaunch {

std::vector<std::string> data_rows(const Dataset& dataset, const Normalization& normalization) {
  std::vector<std::string> rows{
      fmt::format("training {} images", dataset.size(Split::train)),
      fmt::format("validation {} images", dataset.size(Split::validation)),
      fmt::format("classes {}", dataset.classes()),
  };
  if (dataset.tokens() > 0) rows.push_back(fmt::format("sequence {} tokens", dataset.tokens()));
  for (const auto& name : dataset.class_names()) {
    rows.push_back(fmt::format("class-{} {}", rows.size() - 3, name));
  }
  rows.push_back(fmt::format("training-labels sum {:016x}", dataset.listing_key(Split::train)));
  rows.push_back(
      fmt::format("validation-labels sum {:016x}", dataset.listing_key(Split::validation)));
  rows.push_back(fmt::format("pixels mean {}, standard deviation {}",
                             fmt::join(normalization.mean, " "),
                             fmt::join(normalization.std, " ")));
  return rows;
}

Result<Ok> check_same_data(Communicator& communicator, const Dataset& dataset,
                           const Normalization& normalization) {
  return check_same_table(communicator, data_rows(dataset, normalization),
                          {.table = "data",
                           .row = "class",
                           .hint = "dataset.path must hold the same files on every node"});
}

}  // namespace dllaunch
