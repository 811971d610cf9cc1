#include "launcher/links/link_messages.hpp"

#include <algorithm>
#include <cmath>

#include "launcher/base/utf8.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view marker = "dllaunch-links ";
constexpr std::size_t longest_why = 160;
constexpr std::int64_t most_port = 65535;
constexpr std::int64_t most_milliseconds = 10'000;
constexpr std::int64_t most_orders = 1'000'000;

bool is_number(double value) {
  return std::isfinite(value) && value >= 0;
}

Json parsed(std::string_view line) {
  if (!line.starts_with(marker)) return nullptr;
  return Json::parse(line.substr(marker.size()), nullptr, /*allow_exceptions=*/false);
}

std::string line_of(const Json& document) {
  return std::string(marker) +
         document.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace

template <typename Field>
void visit_fields(Field& field, LinkTask& task) {
  field.required("hosts", as_text(task.hosts, compress_hosts, expand_hosts));
  field.required("host_suffix", task.host_suffix);
  field.required("mark", task.mark);
  field.required("seconds", task.seconds);
  if constexpr (Field::reads)
    if (!is_number(task.seconds)) field.refuse("seconds", "is no duration");
}

template <typename Field>
void visit_fields(Field& field, LinkDoor& door) {
  field.required("address", door.address);
  field.required("port", within(door.port, 0, most_port));
}

template <typename Field>
void visit_fields(Field& field, Pull& pull) {
  field.required("to", pull.to);
  field.required("from", pull.from);
}

template <typename Field>
void visit_fields(Field& field, LinkCall& call) {
  field.unless_empty("doors", call.doors);
  field.unless_empty("order", call.order);
  field.unless_empty("milliseconds", within(call.milliseconds, 0, most_milliseconds));
  field.unless_empty("pulls", call.pulls);
}

template <typename Field>
void visit_fields(Field& field, LinkReply& reply) {
  field.required("host", reply.host);
  field.unless_empty("door", reply.door);
  field.unless_empty("order", reply.order);
  field.unless_empty("from", reply.data.pull.from);
  field.unless_empty("gbit_per_s", reply.data.gbit_per_s);
  field.unless_empty("us", reply.data.us);
  field.unless_empty("why", reply.data.why);
}

std::string to_text(const LinkTask& task) {
  return write_fields(task).dump(-1, ' ', true, Json::error_handler_t::replace);
}

Result<LinkTask> link_task_from(std::string_view text) {
  LinkTask task;
  const auto problem = read_fields(Json::parse(text, nullptr, /*allow_exceptions=*/false), task);
  if (problem.empty()) return task;
  return Error{ErrorKind::bad_request, "no task for the network: " + problem,
               "use the same dllaunch on all nodes"};
}

std::string to_line(const LinkCall& call) {
  return line_of(write_fields(call));
}

std::optional<LinkCall> link_call_from(std::string_view line, std::size_t hosts) {
  LinkCall call;
  if (!read_fields(parsed(line), call).empty()) return std::nullopt;
  if (!call.doors.empty() && call.doors.size() != hosts) return std::nullopt;
  const bool known = std::ranges::all_of(
      call.pulls, [&](const Pull& pull) { return pull.to < hosts && pull.from < hosts; });
  return known && call.order <= most_orders ? std::optional(call) : std::nullopt;
}

std::string to_line(const LinkReply& reply) {
  auto shorter = reply;
  // Escapes make a character up to six times as long.
  auto& why = shorter.data.why;
  why = printable(why);
  why.erase(std::min(why.size(), longest_why));
  std::ranges::replace_if(
      why, [](char c) { return c < ' ' || c > '~'; }, '?');
  return line_of(write_fields(shorter));
}

std::optional<LinkReply> link_reply_from(std::string_view line, std::size_t hosts) {
  LinkReply reply;
  if (!read_fields(parsed(line), reply).empty()) return std::nullopt;
  reply.data.pull.to = reply.host;
  reply.data.why = printable(reply.data.why);
  if (reply.door) reply.door->address = printable(reply.door->address);
  const bool itself = !reply.door && reply.data.pull.from == reply.host;
  const bool sound = reply.host < hosts && reply.data.pull.from < hosts && !itself &&
                     reply.order <= most_orders && is_number(reply.data.gbit_per_s) &&
                     is_number(reply.data.us);
  return sound ? std::optional(reply) : std::nullopt;
}

}  // namespace dllaunch
