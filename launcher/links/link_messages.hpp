// What the measuring process and the one on each host say to each other: a JSON object a line,
// through srun's standard input and output.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/links/link_survey.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// On the command line of each host's process.
struct LinkTask {
  std::vector<std::string> hosts = {};  // all, in the order of the indices
  std::string host_suffix = {};         // appended to a name to call it
  std::string mark = {};                // of this call: the secret, if no variable carries one
  double seconds = 0;                   // after which the process ends by itself
};
std::string to_text(const LinkTask& task);
/// bad_request: not a task.
Result<LinkTask> link_task_from(std::string_view text);

/// Where a host is reached.
struct LinkDoor {
  std::string address = {};  // empty: by the host's name
  int port = 0;

  friend bool operator==(const LinkDoor&, const LinkDoor&) = default;
};

/// To all hosts: where they are, or what to do.
struct LinkCall {
  std::vector<LinkDoor> doors = {};  // by host; only in the first
  std::size_t order = 0;
  int milliseconds = 0;
  std::vector<Pull> pulls = {};
};
std::string to_line(const LinkCall& call);
/// nullopt: not a call between `hosts` hosts.
std::optional<LinkCall> link_call_from(std::string_view line, std::size_t hosts);

/// From a host: that it is there, or what it measured.
struct LinkReply {
  std::size_t host = 0;
  std::optional<LinkDoor> door = {};
  std::size_t order = 0;
  PulledData data = {};
};
/// One line of at most 400 bytes, so that srun does not split it.
std::string to_line(const LinkReply& reply);
/// nullopt: another program's output, or damaged.
std::optional<LinkReply> link_reply_from(std::string_view line, std::size_t hosts);

}  // namespace dllaunch
