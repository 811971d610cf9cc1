#include "launcher/failures/read_failures.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "launcher/base/time_span.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/cluster/cluster_catalog.hpp"
#include "launcher/failures/book_rates.hpp"
#include "launcher/failures/outages.hpp"
#include "launcher/nodes/node_book.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

Result<FailureRates> rates_of_file(System& system, const std::string& path) {
  auto text = system.read_file(path);
  if (!text) {
    auto error = std::move(text).error();
    error.hint = "give a CSV file of outages (docs/how-to/forecast.md), or a cluster profile";
    return error;
  }
  const auto seen = parse_outages(*text, path);
  if (!seen) return seen.error();
  constexpr double day_s = 86400;
  auto source = fmt::format(
      "{}: {} of {} {} in {:.0f} days", path, counted(failures_in(*seen), "failure"), seen->nodes,
      seen->nodes_given ? "nodes" : "nodes that failed", (seen->until_s - seen->from_s) / day_s);
  auto rates = fit_failure_rates(*seen, std::move(source));
  if (!rates) return std::move(rates).error().within(path);
  if (rates->node_mtbf_s < least_node_mtbf_s)
    return Error{
        ErrorKind::bad_request,
        fmt::format("{}: a node would fail every {}", path, time_span(rates->node_mtbf_s)),
        "numbers are days; say with '# nodes:', '# from:' and '# until:' what was watched"};
  return rates;
}

Result<FailureRates> rates_of_profile(System& system, const std::string& name) {
  auto profile = find_profile(system, name);
  if (!profile) {
    auto error = std::move(profile).error();
    error.hint += "; a file of outages ends in .csv";
    return error;
  }
  if (!profile->failures)
    return Error{
        ErrorKind::bad_request,
        fmt::format("cluster profile {} does not say how often nodes fail", profile->name),
        "give it `failures: {node_mtbf: 300d, repair: 1d}`, or pass a CSV file of outages"};
  const auto& known = *profile->failures;
  return FailureRates{.node_mtbf_s = known.node_mtbf_s,
                      .repair_s = known.repair_s,
                      .uneven_times = known.uneven,
                      .source = "cluster profile " + profile->name};
}

constexpr std::string_view book_of_cluster = "book:";

Result<FailureRates> rates_of_node_book(System& system, const std::string& source,
                                        const std::string& site_book) {
  const auto book = find_node_book(system, site_book);
  if (!book)
    return Error{ErrorKind::bad_request, "no node book is kept: DLLAUNCH_NODE_BOOK is empty",
                 "unset it, or name a cluster profile or a CSV file of outages"};
  const auto read = read_node_book(*book);
  if (!read) return read.error();
  const auto cluster =
      source.starts_with(book_of_cluster) ? source.substr(book_of_cluster.size()) : "";
  auto rates = rates_of_book(read->all, cluster, unix_seconds());
  if (!rates) return std::move(rates).error().within(book->path);
  return rates;
}

}  // namespace

Result<FailureRates> read_failure_rates(System& system, const std::string& source,
                                        const std::string& site_book) {
  if (source == "book" || source.starts_with(book_of_cluster))
    return rates_of_node_book(system, source, site_book);
  if (source.ends_with(".csv")) return rates_of_file(system, source);
  return rates_of_profile(system, source);
}

}  // namespace dllaunch
