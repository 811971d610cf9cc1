#include "launcher/slurm/slurm_messages.hpp"

#include <algorithm>
#include <initializer_list>

namespace dllaunch {
namespace {

bool says(std::string_view message, std::initializer_list<std::string_view> phrases) {
  return std::ranges::any_of(phrases, [message](std::string_view phrase) {
    return message.find(phrase) != std::string_view::npos;
  });
}

}  // namespace

bool is_option_error(std::string_view message) {
  return says(message, {"unrecognized option", "invalid option", "requires an argument",
                        "is ambiguous", "doesn't allow an argument", "Invalid --",
                        "--help\" for more", "Invalid numeric value"});
}

bool is_refusal_of_controller(std::string_view message) {
  // The details that follow when no answer came.
  const bool lost = says(message, {"timed out", "Unable to contact", "Zero Bytes", "receive",
                                   "onnection", "Unexpected message", "Header len", "Communication",
                                   "Transport", "rotocol", "send/recv"});
  return says(message, {"Batch job submission failed: "}) && !lost;
}

bool is_silence_of_controller(std::string_view message) {
  return says(message, {"Unable to contact", "timed out"});
}

bool is_not_configured(std::string_view message) {
  return says(message, {"Could not establish a configuration source", "DNS SRV lookup failed",
                        "unable to status file /etc/slurm"});
}

bool is_unknown_job(std::string_view message) {
  return says(message, {"Invalid job id"});
}

bool has_no_accounting(std::string_view message) {
  return says(message, {"storage is disabled"});
}

bool has_no_submit_lines(std::string_view message) {
  return says(message, {"nvalid field"});
}

bool may_only_mean_later(std::string_view message, bool nodes_are_taken) {
  return (nodes_are_taken && says(message, {"Requested node configuration is not available"})) ||
         says(message, {"Invalid time specified", "Requested nodes are busy"});
}

std::string start_estimate_in(std::string_view message) {
  const auto begin = message.find("to start at ");
  if (begin == std::string_view::npos) return {};
  auto estimate = message.substr(begin + 3);
  return std::string(estimate.substr(0, estimate.find_first_of(";\n")));
}

}  // namespace dllaunch
