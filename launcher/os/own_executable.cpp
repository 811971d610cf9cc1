#include "launcher/os/own_executable.hpp"

#include <string_view>

#include "support/shared_library.hpp"

namespace dllaunch {

Result<std::string> own_executable() {
  // NAME starts NAME.real (packaging/bundle/starter.c).
  constexpr std::string_view started = ".real";
  auto file = own_file();
  if (file && file->ends_with(started)) file->resize(file->size() - started.size());
  return file;
}

}  // namespace dllaunch
