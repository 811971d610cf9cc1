// Where the rates of failures come from, by name.
#pragma once

#include <string>

#include "launcher/failures/failure_rates.hpp"
#include "launcher/os/system.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// `source`: a file that ends in .csv, of outages (outages.hpp); "book" or "book:CLUSTER", the node
/// book (book_rates.hpp), of which `site_book` is the cluster profile's; else the name or file of a
/// cluster profile, whose `failures:` it takes. A further source is a further branch here.
/// bad_request: no such file or profile, a mistake in it, or no rates. unsatisfiable: no failure.
Result<FailureRates> read_failure_rates(System& system, const std::string& source,
                                        const std::string& site_book = "");

}  // namespace dllaunch
