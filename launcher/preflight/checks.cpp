#include <array>

#include "launcher/preflight/check.hpp"
#include "support/json_fields.hpp"

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
  return value_at<std::optional<double>>(seen, key);
}

std::string text_of(const Json& seen, const char* key) {
  return value_at<std::string>(seen, key);
}

bool flag_of(const Json& seen, const char* key) {
  return value_at<bool>(seen, key);
}

}  // namespace dllaunch
