#include "launcher/links/link_history.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/preflight/outliers.hpp"
#include "launcher/run/run_index.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_kept = 50;
constexpr std::size_t most_bytes = std::size_t{1} << 20;
constexpr std::size_t fewest_to_compare = 5;
constexpr double unusual_deviations = 6;
constexpr double deviation_per_mad = 1.4826;

double mad_of(std::vector<double> values, double median) {
  for (auto& value : values) value = std::abs(value - median);
  return median_of(std::move(values));
}

/// "/" and the like cannot be in a file's name.
std::string file_name_of(System& system) {
  auto name = system.environment("SLURM_CLUSTER_NAME").value_or("");
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_'; }, '_');
  return (name.empty() ? "cluster" : name.substr(0, 64)) + ".json";
}

}  // namespace

template <typename Field>
void visit_fields(Field& field, PastLinks& past) {
  field.required("time", past.time);
  field.required("hosts", past.hosts);
  field("interface", past.interface);
  field.required("gbit_per_s", past.gbit_per_s);
  field.required("us", past.us);
}

LinkBaseline baseline_of(const std::vector<PastLinks>& past, const PastLinks& now) {
  std::vector<double> rates;
  std::vector<double> times;
  for (const auto& one : past) {
    const bool alike =
        one.interface == now.interface && std::bit_ceil(one.hosts) == std::bit_ceil(now.hosts);
    if (!alike) continue;
    rates.push_back(one.gbit_per_s);
    times.push_back(one.us);
  }
  LinkBaseline baseline{
      .measurements = rates.size(), .gbit_per_s = median_of(rates), .us = median_of(times)};
  baseline.gbit_per_s_mad = mad_of(rates, baseline.gbit_per_s);
  baseline.us_mad = mad_of(times, baseline.us);
  if (baseline.measurements < fewest_to_compare) return baseline;
  constexpr double far = unusual_deviations * deviation_per_mad;
  const auto present = PulledData{.gbit_per_s = now.gbit_per_s, .us = now.us};
  const UsualLink usual{baseline.gbit_per_s, baseline.us};
  baseline.slow = now.gbit_per_s < slow_below * usual.gbit_per_s &&
                  usual.gbit_per_s - now.gbit_per_s > far * baseline.gbit_per_s_mad;
  baseline.late = score_of(present, {0, usual.us}) < 1 && now.us - usual.us > far * baseline.us_mad;
  return baseline;
}

Json to_json(const std::vector<PastLinks>& past) {
  Json list = Json::array();
  for (const auto& one : past) list.push_back(write_fields(one));
  return {{"measurements", list}};
}

std::vector<PastLinks> past_links_from(std::string_view text) {
  std::vector<PastLinks> past;
  const auto document = json_object_in(text);
  if (!document.is_object() || !document.contains("measurements")) return past;
  for (const auto& item : document["measurements"]) {
    PastLinks one;
    if (!read_fields(item, one).empty()) continue;
    constexpr std::size_t most_hosts = 1'000'000;
    const bool sound = one.hosts > 0 && one.hosts <= most_hosts && std::isfinite(one.time) &&
                       std::isfinite(one.gbit_per_s) && one.gbit_per_s > 0 &&
                       std::isfinite(one.us) && one.us > 0;
    if (sound) past.push_back(std::move(one));
  }
  if (past.size() > most_kept)
    past.erase(past.begin(), past.end() - static_cast<std::ptrdiff_t>(most_kept));
  return past;
}

LinkBaseline compare_with_past(System& system, const PastLinks& now, bool learn) {
  const auto state = state_folder(system);
  if (!state) return {};
  const auto path = *state + "/links/" + file_name_of(system);
  const auto text = read_run_file(system, path, most_bytes);
  auto past = past_links_from(text ? *text : "");
  const auto baseline = baseline_of(past, now);
  if (!learn || now.gbit_per_s <= 0 || now.us <= 0) return baseline;
  past.push_back(now);
  past.back().time = unix_seconds();
  if (past.size() > most_kept) past.erase(past.begin());
  const auto made = make_private_folder(*state + "/links");
  const auto written = made == 0 ? write_file(path, json_text(to_json(past)), Readers::none)
                                 : Result<Ok>(Error{ErrorKind::unavailable, "no folder", ""});
  if (!written)
    system.log("dllaunch: the measurement is not remembered in " + path + ": " +
               written.error().what + "\n");
  return baseline;
}

}  // namespace dllaunch
