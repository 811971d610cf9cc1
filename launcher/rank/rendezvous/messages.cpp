#include "launcher/rank/rendezvous/messages.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "support/json.hpp"

namespace dllaunch {
namespace {

constexpr int last_port = 65535;
constexpr int most_ranks = 1 << 24;
constexpr std::size_t longest_address = 300;
constexpr std::size_t secret_digits = 64;
constexpr std::size_t nonce_digits = 32;

Error damaged(const char* what) {
  return {ErrorKind::bad_request, what, ""};
}

Json parse(std::string_view line) {
  return Json::parse(line, nullptr, /*allow_exceptions=*/false);
}

/// Whether the text has only characters that are safe in a variable such as TF_CONFIG or in a
/// message.
bool is_address(const std::string& text) {
  return !text.empty() && text.size() <= longest_address && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view(".-_:[]%").find(c) != std::string_view::npos;
  });
}

std::optional<std::string> text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

/// Returns the digits; empty: missing or invalid.
std::string digits_at(const Json& object, const char* key, std::size_t count) {
  auto text = text_at(object, key).value_or("");
  const bool hexadecimal = std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  return hexadecimal && text.size() == count ? text : "";
}

std::optional<int> number_at(const Json& object, const char* key, int most) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  const auto value = found->get<std::int64_t>();
  if (value < 0 || value > most) return std::nullopt;
  return static_cast<int>(value);
}

}  // namespace

std::string to_line(const RendezvousPoint& point, std::string_view start_name) {
  Json line = {{"start", start_name},
               {"address", point.address},
               {"port", point.port},
               {"desk", point.server_port}};
  if (!point.secret.empty()) line["secret"] = point.secret;
  return line.dump() + "\n";
}

Result<RendezvousPoint> parse_rendezvous_point(std::string_view line, std::string_view start_name) {
  const Json object = parse(line);
  if (!object.is_object()) return damaged("it has no rendezvous address");
  if (text_at(object, "start") != start_name) return damaged("it belongs to another start");
  const auto address = text_at(object, "address");
  const auto port = number_at(object, "port", last_port);
  const auto server_port = number_at(object, "desk", last_port);
  if (!address || !is_address(*address) || port.value_or(0) == 0 || !server_port) {
    return damaged("it has no address and port");
  }
  return RendezvousPoint{*address, *port, *server_port, digits_at(object, "secret", secret_digits)};
}

std::string_view answer_purpose(const Question& question) {
  return question.worker.empty() ? "answer" : "table";
}

std::string to_line(const Question& question, std::string_view start_name) {
  Json line = {{"start", start_name}, {"rank", question.rank}, {"worker", question.worker}};
  if (!question.to.empty()) line["to"] = question.to;
  if (!question.nonce.empty()) line["nonce"] = question.nonce;
  return line.dump() + "\n";
}

std::optional<Question> parse_question(std::string_view line, std::string_view start_name) {
  const Json object = parse(line);
  if (!object.is_object() || text_at(object, "start") != start_name) return std::nullopt;
  const auto rank = number_at(object, "rank", most_ranks);
  const auto worker = text_at(object, "worker");
  const auto to = text_at(object, "to").value_or("");
  if (!rank || !worker || (!worker->empty() && !is_address(*worker))) return std::nullopt;
  if (!to.empty() && !is_address(to)) return std::nullopt;
  return Question{*rank, *worker, to, digits_at(object, "nonce", nonce_digits)};
}

std::string workers_line(const std::vector<std::string>& workers) {
  return Json(workers).dump() + "\n";
}

Result<std::vector<std::string>> parse_workers(std::string_view line, int count) {
  const Json list = parse(line);
  if (!list.is_array() || std::ssize(list) != count) return damaged("not the list of all workers");
  std::vector<std::string> workers;
  for (const auto& item : list) {
    if (!item.is_string() || !is_address(item.get<std::string>())) {
      return damaged("not an address in the list of workers");
    }
    workers.push_back(item.get<std::string>());
  }
  return workers;
}

std::string with_port(const std::string& address, int port) {
  const bool bare_ipv6 = address.find(':') != std::string::npos && !address.starts_with('[');
  return bare_ipv6 ? fmt::format("[{}]:{}", address, port) : fmt::format("{}:{}", address, port);
}

}  // namespace dllaunch
