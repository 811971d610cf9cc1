#include "launcher/daemon/client/settings.hpp"

#include <fmt/core.h>

#include <string_view>

#include "support/json.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

template <typename T>
bool take(const Json& object, const char* key, T& value) {
  const auto found = object.find(key);
  if (found == object.end()) return false;
  if constexpr (std::is_same_v<T, bool>) {
    if (!found->is_boolean()) return false;
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!found->is_string()) return false;
  } else {
    if (!found->is_number()) return false;
  }
  value = found->template get<T>();
  return true;
}

}  // namespace

std::string settings_text(const DaemonSettings& settings) {
  return Json{{"foreground", settings.foreground},
              {"interval_s", settings.interval_s},
              {"most_gpu_hours", settings.most_gpu_hours},
              {"most_jobs", settings.most_jobs},
              {"most_submissions", settings.most_submissions},
              {"notify", settings.notify},
              {"port", settings.port},
              {"settle_s", settings.settle_s}}
      .dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

Result<DaemonSettings> parse_settings(const std::string& text) {
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  DaemonSettings settings;
  const bool good = object.is_object() && take(object, "foreground", settings.foreground) &&
                    take(object, "port", settings.port) &&
                    take(object, "interval_s", settings.interval_s) &&
                    take(object, "settle_s", settings.settle_s) &&
                    take(object, "most_jobs", settings.most_jobs) &&
                    take(object, "most_submissions", settings.most_submissions) &&
                    take(object, "most_gpu_hours", settings.most_gpu_hours) &&
                    take(object, "notify", settings.notify);
  if (good) return settings;
  return Error{ErrorKind::bad_request, "these are no settings of the daemon",
               "dllaunch daemon start"};
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
