#include <array>

#include "launcher/preflight/check.hpp"

namespace dllaunch {

extern const PreflightCheck network_check;
extern const PreflightCheck clock_check;
extern const PreflightCheck folders_check;
extern const PreflightCheck shm_check;
extern const PreflightCheck memory_check;
extern const PreflightCheck gpus_check;
extern const PreflightCheck gpu_speed_check;
extern const PreflightCheck cpu_check;

namespace {

constexpr std::array table = {&network_check, &clock_check, &folders_check,   &shm_check,
                              &memory_check,  &gpus_check,  &gpu_speed_check, &cpu_check};

}  // namespace

std::span<const PreflightCheck* const> preflight_checks() {
  return table;
}

std::optional<double> number_of(const Json& seen, const char* key) {
  if (!seen.is_object()) return std::nullopt;
  const auto found = seen.find(key);
  if (found == seen.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string text_of(const Json& seen, const char* key) {
  if (!seen.is_object()) return "";
  const auto found = seen.find(key);
  return found != seen.end() && found->is_string() ? found->get<std::string>() : "";
}

bool flag_of(const Json& seen, const char* key) {
  if (!seen.is_object()) return false;
  const auto found = seen.find(key);
  return found != seen.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace dllaunch
