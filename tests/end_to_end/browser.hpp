// A real browser without a window.
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"

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

/// A page opened wide, dark and on a telephone, and printed: it shows these parts, says nothing on
/// the console and asks for nothing. `height`: of the wide picture. DLLAUNCH_SCREENSHOTS names a
/// folder that keeps the pictures.
inline void expect_whole_page(System& system, const std::string& folder, const std::string& page,
                              const std::string& name, int height,
                              const std::vector<std::string>& parts) {
  const auto look_at = [&](std::vector<std::string> more) {
    auto argv = browser_in(folder);
    argv.insert(argv.end(), more.begin(), more.end());
    argv.push_back("file://" + page);
    const auto seen = system.run(argv, std::chrono::seconds(90));
    EXPECT_TRUE(seen) << seen.error().what;
    if (!seen) return std::string();
    EXPECT_THAT(seen->err, testing::Not(testing::HasSubstr("CONSOLE")));
    return seen->out;
  };
  const auto shown = look_at({"--dump-dom"});
  for (const auto& part : parts) EXPECT_THAT(shown, testing::HasSubstr(part));
  for (const char* part : {"<script", "src=", "url(", "@import", "href=\"http"})
    EXPECT_THAT(shown, testing::Not(testing::HasSubstr(part))) << "it asks for nothing";
  const char* keep = std::getenv("DLLAUNCH_SCREENSHOTS");
  const std::string pictures = std::string(keep != nullptr ? keep : folder) + "/" + name;
  struct Look {
    const char* name;
    std::string size;
    bool dark = false;
  };
  const Look looks[] = {{"wide", "1400," + std::to_string(height)},
                        {"dark", "1400," + std::to_string(height), true},
                        {"telephone", "390," + std::to_string(height * 3 / 2)}};
  for (const Look& look : looks) {
    const auto picture = pictures + "-" + look.name + ".png";
    std::vector<std::string> more = {"--window-size=" + look.size, "--screenshot=" + picture};
    if (look.dark) more.emplace_back("--blink-settings=preferredColorScheme=0");
    look_at(more);
    EXPECT_GT(std::filesystem::file_size(picture), 20'000u) << look.name;
  }
  const auto paper = pictures + ".pdf";
  look_at({"--no-pdf-header-footer", "--print-to-pdf=" + paper});
  EXPECT_GT(std::filesystem::file_size(paper), 10'000u);
}

}  // namespace dllaunch
