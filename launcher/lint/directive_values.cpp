#include "launcher/lint/directive_values.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>

#include "launcher/lint/bash/text.hpp"

namespace dllaunch::lint {
namespace {

bool matches(std::string_view value, const char* pattern) {
  constexpr std::size_t longest = 200;
  if (value.size() > longest) return true;  // too long to check
  return std::regex_match(value.begin(), value.end(), std::regex(pattern, std::regex::icase));
}

std::string count_fault(std::string_view value) {
  const bool number = !value.empty() && value.size() < 10 && std::ranges::all_of(value, [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
  if (number && value.find_first_not_of('0') != std::string_view::npos) return "";
  return "is not a number above 0";
}

std::string time_fault(std::string_view value) {
  const char* forms = R"(\d+|\d+:\d+|\d+:\d+:\d+|\d+-\d+|\d+-\d+:\d+|\d+-\d+:\d+:\d+|)"
                      "infinite|unlimited|-1";
  return matches(value, forms) ? "" : "is not a time: MINUTES, HH:MM:SS, D-HH or D-HH:MM:SS";
}

std::string signal_fault(std::string_view value) {
  const char* form =
      R"(([rb]*:)?(\d+|(sig)?(hup|int|quit|abrt|kill|alrm|term|usr1|usr2|urg|cont|stop|tstp|)"
      R"(ttin|ttou|xcpu))(@\d+)?)";
  return matches(value, form) ? "" : "is not a signal: [B:]USR2@SECONDS";
}

}  // namespace

long megabytes(std::string_view value) {
  if (value.ends_with('B') || value.ends_with('b')) value.remove_suffix(1);
  long factor = 1;
  long divisor = 1;
  if (!value.empty() && std::isdigit(static_cast<unsigned char>(value.back())) == 0) {
    switch (std::toupper(static_cast<unsigned char>(value.back()))) {
      case 'K':
        divisor = 1024;
        break;
      case 'M':
        break;
      case 'G':
        factor = 1024;
        break;
      case 'T':
        factor = 1048576;
        break;
      default:
        return -1;
    }
    value.remove_suffix(1);
  }
  const long number = number_of(value);
  if (number < 0) return -1;
  return (number * factor + divisor - 1) / divisor;
}

std::string fault_of_value(std::string_view option, std::string_view value) {
  static const std::array<std::string_view, 9> counts = {
      "ntasks",        "ntasks-per-node", "ntasks-per-socket", "ntasks-per-core", "ntasks-per-gpu",
      "cpus-per-task", "cpus-per-gpu",    "cores-per-socket",  "sockets-per-node"};
  const bool number = std::ranges::find(counts, option) != counts.end();
  const bool per_node_zero = option == "ntasks-per-node" && value == "0";
  if (number && !per_node_zero) return count_fault(value);
  if (option == "time" || option == "time-min") return time_fault(value);
  if (option == "signal") return signal_fault(value);
  if (option == "nodes") {
    return matches(value, R"(\d+[km]?(-\d+[km]?)?|[\d,:-]+)")
               ? ""
               : "is not a number of nodes: N or MIN-MAX";
  }
  if (option == "mem" || option == "mem-per-cpu" || option == "mem-per-gpu" || option == "tmp") {
    return megabytes(value) >= 0 ? "" : "is not a size: megabytes, or a number with K, M, G or T";
  }
  if (option == "gpus" || option == "gpus-per-node" || option == "gpus-per-task") {
    return matches(value, R"(([^:,]+:)?\d+(,([^:,]+:)?\d+)*|[a-z][^:,]*)")
               ? ""
               : "is not a number of GPUs: N or TYPE:N";
  }
  if (option == "open-mode") {
    return matches(value, "append|truncate|a|t") ? "" : "is neither append nor truncate";
  }
  return "";
}

}  // namespace dllaunch::lint
