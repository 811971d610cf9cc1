#include "launcher/links/links_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "launcher/base/table.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

constexpr std::array kind_names = {"host", "pair", "group"};

std::string gbit(double per_second) {
  return fmt::format("{:.{}f} Gbit/s", per_second, per_second < 10 ? 2 : 0);
}

std::string microseconds(double us) {
  return fmt::format("{:.0f} us", us);
}

/// What a line says of the hosts that the indices mean.
class Words {
 public:
  explicit Words(const LinkMeasurement& measured)
      : names_(measured.hosts), usual_(measured.verdict.usual) {}

  std::string of(const std::vector<std::size_t>& hosts) const {
    std::vector<std::string> names;
    for (const auto host : hosts) names.push_back(names_[host]);
    return compress_host_set(std::move(names));
  }
  Json list(const std::vector<std::size_t>& hosts) const {
    Json all = Json::array();
    for (const auto host : hosts) all.push_back(Json(names_[host]));
    return all;
  }

  /// "sends at 0.19 Gbit/s", "sends nothing: timed out"; a late link: "round trip 5000 us".
  std::string seen(const SlowLink& link) const {
    std::string text;
    const auto add = [&](const SlowDirection& way, const char* verb) {
      if (!way.slow) return;
      text += text.empty() ? "" : ", ";
      if (!way.why.empty()) {
        text += fmt::format("{} nothing ({})", verb, way.why);
        return;
      }
      text += fmt::format("{} {}", verb, gbit(way.gbit_per_s));
      if (way.gbit_per_s >= slow_below * usual_.gbit_per_s)
        text += fmt::format(" with a round trip of {}", microseconds(way.us));
    };
    add(link.sends, "sends");
    add(link.receives, "receives");
    return text;
  }

  /// "50 times as slow as other pairs at the same time (9.41 Gbit/s, 31 us), the best of 5".
  std::string compared(const SlowLink& link) const {
    double times = 1;
    int draws = 0;
    bool broken = false;
    for (const auto& way : {link.sends, link.receives}) {
      if (!way.slow) continue;
      draws = draws == 0 ? way.draws : std::min(draws, way.draws);
      broken = broken || !way.why.empty();
      const double score = score_of({.gbit_per_s = way.gbit_per_s, .us = way.us}, usual_);
      times = std::max(times, 1 / std::max(1e-6, score));
    }
    const auto usual = fmt::format("{}, {}", gbit(usual_.gbit_per_s), microseconds(usual_.us));
    if (broken) return fmt::format("measured {} times; other pairs have {}", draws, usual);
    return fmt::format("{:.1f} times as slow as other pairs at the same time ({}); the best of {}",
                       times, usual, draws);
  }

 private:
  const std::vector<std::string>& names_;
  UsualLink usual_;
};

NodeVerdict* verdict_on(PreflightReport& report, const std::string& host) {
  const auto found =
      std::ranges::find(report.nodes, host, [](const NodeVerdict& node) { return node.node; });
  return found == report.nodes.end() ? nullptr : &*found;
}

/// Collects the checks of each node, and who is to be left out.
class Additions {
 public:
  explicit Additions(PreflightReport& report) : report_(report) {}

  void fail(const std::string& host, PreflightResult result, bool exclude) {
    auto* node = verdict_on(report_, host);
    if (node == nullptr) return;
    result.name = "links";
    if (result.level == Level::fail) node->ok = false;
    node->checks.push_back(std::move(result));
    if (exclude && std::ranges::find(report_.exclude, host) == report_.exclude.end())
      report_.exclude.push_back(host);
  }
  /// For nodes without a finding.
  void show(const std::string& host, const std::string& value) {
    auto* node = verdict_on(report_, host);
    if (node == nullptr) return;
    const bool has =
        std::ranges::any_of(node->checks, [](const auto& check) { return check.name == "links"; });
    if (!has) node->checks.push_back({.name = "links", .value = value});
  }

 private:
  PreflightReport& report_;
};

void add_slow(Additions& add, const LinkMeasurement& measured, const SlowLink& link) {
  const Words words(measured);
  const auto& hosts = measured.hosts;
  PreflightResult result{
      .level = Level::fail, .value = words.seen(link), .why = words.compared(link)};
  if (link.kind == SlowKind::host) {
    result.value += " " + fmt::format("(with {})", words.of(link.b));
    result.fix = "leave the node out; check its network card, cable and switch port";
    add.fail(hosts[link.a.front()], std::move(result), true);
  } else if (link.kind == SlowKind::pair) {
    // Job scripts run on the first host.
    const auto [kept, blamed] = std::minmax(link.a.front(), link.b.front());
    result.item = fmt::format("{} with {}", hosts[link.a.front()], hosts[link.b.front()]);
    result.why += "; both are fast with others";
    if (hosts.size() == 2) result.why = words.compared(link);
    result.fix = fmt::format("leave out {} or {}; check the route between their switches",
                             hosts[kept], hosts[blamed]);
    result.shared = true;
    add.fail(hosts[blamed], std::move(result), true);
  } else {
    result.item = fmt::format("{} with {}", words.of(link.a), words.of(link.b));
    result.why += "; both groups are fast within";
    result.fix =
        "ask for nodes of one switch (#SBATCH --switches=1); check the uplinks between them";
    result.shared = true;
    for (const auto host : link.a) add.fail(hosts[host], result, false);
  }
}

Json way_json(const SlowDirection& way) {
  if (!way.slow) return nullptr;
  return {{"gbit_per_s", way.gbit_per_s}, {"us", way.us}, {"why", way.why}};
}

Json links_json(const LinkMeasurement& measured, const std::vector<SlowLink>& links) {
  const Words words(measured);
  Json list = Json::array();
  for (const auto& link : links)
    list.push_back({{"kind", kind_names[static_cast<std::size_t>(link.kind)]},
                    {"hosts", words.list(link.a)},
                    {"with", words.list(link.b)},
                    {"sends", way_json(link.sends)},
                    {"receives", way_json(link.receives)}});
  return list;
}

Json usual_json(const UsualLink& usual) {
  return {{"gbit_per_s", usual.gbit_per_s}, {"us", usual.us}};
}

}  // namespace

void add_links(PreflightReport& report, const LinkMeasurement& measured,
               const LinkBaseline& baseline) {
  Additions add(report);
  const auto& verdict = measured.verdict;
  for (const auto& link : verdict.slow) add_slow(add, measured, link);
  const auto said = measured.complaint.empty() ? "" : "; heard: " + printable(measured.complaint);
  for (const auto host : verdict.silent)
    add.fail(measured.hosts[host],
             {.level = Level::fail,
              .value = "no sign of it",
              .why = "its process did not start, or stopped answering, while others did" + said,
              .fix = "leave the node out: it hangs, is cut off, or cannot start programs"},
             true);
  for (const auto host : verdict.cut_off)
    add.fail(measured.hosts[host],
             {.level = Level::fail,
              .value = "unreachable",
              .why = "no data reached it, and none came from it, with at least two other nodes",
              .fix = "leave the node out; check its cable, its switch port and firewalls"},
             true);
  std::vector<std::size_t> unsure;
  for (const auto& link : verdict.unsure) unsure.insert(unsure.end(), link.a.begin(), link.a.end());
  if (!unsure.empty())
    add.fail(measured.hosts.front(),
             {.item = Words(measured).of(unsure),
              .level = Level::warn,
              .value = "looked slow, not confirmed",
              .why = "time ran out before they were measured often enough",
              .fix = "run it again, on idle nodes"},
             false);
  if (verdict.missed > 0)
    add.fail(measured.hosts.front(),
             {.item = "all",
              .level = Level::warn,
              .value = fmt::format("{} of {} pairs were not measured in time", verdict.missed,
                                   verdict.missed + verdict.pairs),
              .why = "time ran out, or a node did not answer for a while",
              .fix = "run it again, on idle nodes"},
             false);
  const auto usual = fmt::format("{}, {}", gbit(verdict.under_load.gbit_per_s),
                                 microseconds(verdict.under_load.us));
  if (baseline.slow || baseline.late)
    add.fail(measured.hosts.front(),
             {.item = "all",
              .level = Level::warn,
              .value = usual,
              .why = fmt::format("{} earlier measurements here had {}, {}", baseline.measurements,
                                 gbit(baseline.gbit_per_s), microseconds(baseline.us)),
              .fix = "the network is busy or has changed: run it again, or compare other nodes"},
             false);
  for (const auto& host : measured.hosts) add.show(host, usual);
}

std::string render_links(const LinkMeasurement& measured, const LinkBaseline& baseline) {
  const auto& verdict = measured.verdict;
  const Words words(measured);
  std::vector<TableRow> rows = {{"links", "sends", "receives", "round trip"}};
  const auto row = [&](const std::string& name, const UsualLink& usual) {
    const auto rate = gbit(usual.gbit_per_s);
    rows.push_back({name, rate, rate, microseconds(usual.us)});
  };
  row("all busy", verdict.under_load);
  if (baseline.measurements > 0)
    row(counted(static_cast<std::int64_t>(baseline.measurements), "earlier measurement"),
        {baseline.gbit_per_s, baseline.us});
  if (!verdict.slow.empty()) row("few busy", verdict.usual);
  for (const auto& link : verdict.slow) {
    const auto cell = [](const SlowDirection& way) {
      return !way.why.empty() ? "nothing" : gbit(way.gbit_per_s) + (way.slow ? " !" : "");
    };
    rows.push_back({words.of(link.a) + " - " + words.of(link.b), cell(link.sends),
                    cell(link.receives), microseconds(std::max(link.sends.us, link.receives.us))});
  }
  return table_text(rows) + fmt::format("{} pairs of {} nodes in {:.1f} s\n", verdict.pairs,
                                        measured.hosts.size(), measured.seconds);
}

Json to_json(const LinkMeasurement& measured, const LinkBaseline& baseline) {
  const auto& verdict = measured.verdict;
  const Words words(measured);
  Json links = Json::array();
  for (const auto& [pull, record] : standing_of(measured.survey).links)
    links.push_back({{"from", measured.hosts[pull.from]},
                     {"to", measured.hosts[pull.to]},
                     {"gbit_per_s", record.best.gbit_per_s},
                     {"us", record.best.us},
                     {"why", record.best.why}});
  return {{"hosts", measured.hosts.size()},
          {"pairs", verdict.pairs},
          {"missed", verdict.missed},
          {"seconds", measured.seconds},
          {"usual", usual_json(verdict.usual)},
          {"under_load", usual_json(verdict.under_load)},
          {"slow", links_json(measured, verdict.slow)},
          {"unsure", links_json(measured, verdict.unsure)},
          {"silent", words.list(verdict.silent)},
          {"cut_off", words.list(verdict.cut_off)},
          {"baseline",
           {{"measurements", baseline.measurements},
            {"gbit_per_s", baseline.gbit_per_s},
            {"gbit_per_s_mad", baseline.gbit_per_s_mad},
            {"us", baseline.us},
            {"us_mad", baseline.us_mad},
            {"slow", baseline.slow},
            {"late", baseline.late}}},
          {"links", links}};
}

}  // namespace dllaunch
