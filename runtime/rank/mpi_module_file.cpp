#include "runtime/rank/mpi_module_file.hpp"

#include <algorithm>

#include "support/shared_library.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "libdltrain_mpi.so";

}  // namespace

std::string own_mpi_module(const EnvLookup& lookup) {
  const std::string home = lookup("HOME").value_or("");
  return home.empty() ? "" : home + "/.local/lib/dllaunch/" + file_name;
}

std::vector<std::string> mpi_module_places(const EnvLookup& lookup) {
  if (const auto named = lookup(mpi_module_variable)) {
    return named->empty() ? std::vector<std::string>{} : std::vector{*named};
  }
  std::vector<std::string> places;
  if (auto own = own_mpi_module(lookup); !own.empty()) places.push_back(std::move(own));
  const fs::path folder = own_folder();
  if (folder.empty()) return places;  // never from the current folder
  places.push_back(folder / file_name);
  places.push_back(folder.parent_path() / "lib/dllaunch" / file_name);
  return places;
}

std::optional<std::string> find_mpi_module(const EnvLookup& lookup) {
  const auto places = mpi_module_places(lookup);
  const bool named = lookup(mpi_module_variable).has_value();
  const auto found = std::ranges::find_if(places, [&](const std::string& place) {
    std::error_code unreadable;
    return named || fs::exists(place, unreadable);
  });
  return found == places.end() ? std::nullopt : std::optional(*found);
}

}  // namespace dllaunch
