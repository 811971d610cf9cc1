#include "launcher/os/program_version.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace dllaunch {

std::string version_in(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n\t", begin), text.size());
    if (end > begin && text[begin] >= '0' && text[begin] <= '9') {
      return std::string(text.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return "";
}

Json observe_program(System& system, const std::string& name, std::chrono::milliseconds limit) {
  const auto path = system.find_program(name);
  if (!path) return {{"found", false}, {"why", name + " is not installed"}};
  const auto output = system.run({name, "--version"}, limit);
  if (!output) return {{"found", false}, {"path", *path}, {"why", output.error().what}};
  if (output->exit_code != 0) {
    const auto said = output->err.substr(0, output->err.find('\n'));
    const auto why =
        said.empty() ? fmt::format("{} --version exited with {}", name, output->exit_code) : said;
    return {{"found", false}, {"path", *path}, {"why", why}};
  }
  return {{"found", true}, {"version", version_in(output->out)}, {"path", *path}};
}

}  // namespace dllaunch
