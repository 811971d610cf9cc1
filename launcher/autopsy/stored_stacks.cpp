#include "launcher/autopsy/stored_stacks.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "launcher/autopsy/python_stacks.hpp"
#include "launcher/os/atomic_file.hpp"
#include "support/file_text.hpp"
#include "support/json.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_kept = 20;
constexpr double idle = 0.05;  // CPUs in use

std::string folder_of(const std::string& run_dir) {
  return run_dir + "/autopsy";
}

/// The names of those kept, oldest first.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  if (fs::is_symlink(folder, error)) return names;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".json") names.push_back(at->path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

template <typename Field>
void visit_fields(Field& field, StoredStacks& stacks) {
  field("time", stacks.time_s);
  field("kind", as_word(stacks.kind, stacks_kind_names));
  field("reason", stacks.why);
  field.unless_empty("sentence", stacks.sentence);
}

bool is_of_hang(StacksKind kind) {
  return kind != StacksKind::silence && kind != StacksKind::time_limit;
}

std::string python_start_folder(const std::string& run_dir) {
  return folder_of(run_dir) + "/python";
}

Result<Ok> prepare_autopsy(const std::string& run_dir, bool on) {
  const std::string folder = python_start_folder(run_dir);
  const std::string file = folder + "/sitecustomize.py";
  if (!on) {
    std::error_code ignored;
    fs::remove(file, ignored);
    return Ok{};
  }
  // Some file systems give all folders to one user: `exec` would not use it.
  struct stat info {};
  if (stat(run_dir.c_str(), &info) != 0 || info.st_uid != geteuid()) return Ok{};
  auto made = make_closed_folder(folder_of(run_dir));
  if (made) made = make_closed_folder(folder);
  if (!made) {
    auto refused = std::move(made).error();
    refused.hint = "recovery: {autopsy: false} does without";
    return refused;
  }
  return write_file(file, std::string(python_start_file()), Readers::none);
}

Result<std::string> keep_stacks(const std::string& run_dir, const StackReport& report,
                                StacksKind kind, const std::string& why, double now_s) {
  const std::string folder = folder_of(run_dir);
  if (auto made = make_closed_folder(folder); !made) return std::move(made).error();
  const std::string name =
      fmt::format("{:%Y%m%d-%H%M%S}", fmt::gmtime(static_cast<std::time_t>(now_s)));
  const std::string text = why + "\n" + render_stacks(report);
  Json document = write_fields(StoredStacks{.time_s = now_s, .kind = kind, .why = why});
  document.update(to_json(report));
  const auto json = document.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  const auto file = folder + "/" + name;
  if (auto written = write_files({{file + ".txt", text}, {file + ".json", json}}); !written)
    return std::move(written).error();
  auto names = names_in(folder);
  const std::size_t surplus = names.size() - std::min(names.size(), most_kept);
  std::error_code error;
  for (const std::string& old :
       std::vector(names.begin(), names.begin() + std::ptrdiff_t(surplus))) {
    for (const char* end : {".json", ".txt"}) fs::remove(folder + "/" + old + end, error);
  }
  return name;
}

namespace {

std::optional<StoredStacks> read_stacks(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  const auto json = read_file_text(path + ".json", FileLinks::refused);
  const auto text = read_file_text(path + ".txt", FileLinks::refused);
  if (!json || !text) return std::nullopt;
  const Json document = Json::parse(*json, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return std::nullopt;
  auto stacks = read_what_fits<StoredStacks>(document);
  stacks.name = name;
  stacks.text = *text;
  return stacks;
}

}  // namespace

std::optional<StoredStacks> newest_stacks(const std::string& run_dir,
                                          const std::function<bool(const StoredStacks&)>& wanted) {
  const std::string folder = folder_of(run_dir);
  for (const auto& name : names_in(folder) | std::views::reverse | std::views::take(most_kept)) {
    auto stacks = read_stacks(folder, name);
    if (stacks && (!wanted || wanted(*stacks))) return stacks;
  }
  return std::nullopt;
}

bool is_standstill(const StackReport& report) {
  std::set<int> odd;
  for (const OddRank& each : report.odd) odd.insert(each.rank);
  bool any = false;
  for (const NodeStacks& node : report.nodes) {
    for (const ProcessStacks& process : node.processes) {
      // Those that wait may spin.
      if (!odd.empty() && !odd.contains(process.rank)) continue;
      if (process.busy > idle) return false;
      any = true;
    }
  }
  return any;
}

}  // namespace dllaunch
