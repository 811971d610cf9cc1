// A real browser without a window.
#pragma once

#include <string>
#include <vector>

namespace dllaunch {

/// Its command line, to which actions and the address are added. It keeps its files in `folder`,
/// and writes what pages say on their console to stderr, as CONSOLE.
inline std::vector<std::string> browser_in(const std::string& folder) {
  return {"chromium",
          "--headless=new",
          "--no-sandbox",
          "--disable-gpu",
          "--disable-dev-shm-usage",
          "--user-data-dir=" + folder + "/browser",
          "--enable-logging=stderr"};
}

}  // namespace dllaunch
