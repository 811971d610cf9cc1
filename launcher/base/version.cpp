#include "launcher/base/version.hpp"

namespace dllaunch {

std::string_view version() {
  return DLLAUNCH_VERSION;
}

}  // namespace dllaunch
