#include "launcher/daemon/client/settings.hpp"

#include <fmt/core.h>

#include <string_view>

#include "support/json_fields.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
template <typename Field>
void visit_fields(Field& field, DaemonSettings& settings) {
  field.required("foreground", settings.foreground);
  field.required("interval_s", settings.interval_s);
  field.required("most_gpu_hours", settings.most_gpu_hours);
  field.required("most_jobs", settings.most_jobs);
  field.required("most_submissions", settings.most_submissions);
  field.required("notify", settings.notify);
  field.required("port", settings.port);
  field.required("settle_s", settings.settle_s);
}

std::string settings_text(const DaemonSettings& settings) {
  return write_fields(settings).dump(-1, ' ', /*ensure_ascii=*/true,
                                     Json::error_handler_t::replace);
}

Result<DaemonSettings> parse_settings(const std::string& text) {
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  DaemonSettings settings;
  if (const auto problem = read_fields(object, settings); !problem.empty())
    return Error{ErrorKind::bad_request, "invalid settings of the daemon: " + problem,
                 "dllaunch daemon start"};
  return settings;
}

Result<int> parse_listen(const std::string& text) {
  constexpr std::string_view here = "127.0.0.1:";
  const std::string_view digits = std::string_view(text).substr(std::min(text.size(), here.size()));
  const auto port = parse_number<int>(digits);
  if (text.starts_with(here) && port && *port >= 0 && *port <= 65535) return *port;
  return Error{ErrorKind::bad_request, fmt::format("--listen takes 127.0.0.1:PORT, not '{}'", text),
               "--listen 127.0.0.1:0 takes a free port; from elsewhere: ssh -L"};
}

}  // namespace dllaunch
