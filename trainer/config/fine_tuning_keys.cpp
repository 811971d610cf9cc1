#include "trainer/config/fine_tuning_keys.hpp"

namespace dllaunch {

std::vector<ConfigKey> fine_tuning_keys() {
  return {
      {.path = "init_from",
       .nullable = true,
       .description = "safetensors file with the initial weights and statistics, by PyTorch's "
                      "names; a resumed run uses its own checkpoint",
       .store =
           [](auto& c, auto& v) {
             c.fine_tuning.init_from = v.is_null() ? "" : v.template get<std::string>();
           }},
      {.path = "init_skip",
       .kind = ValueKind::texts,
       .initial = Json::array(),
       .description = "names not loaded from init_from, which are initialised from the seed: `fc` "
                      "includes everything below it, `*` matches any characters, and a leading `!` "
                      "excludes names from the list",
       .store =
           [](auto& c, auto& v) {
             c.fine_tuning.init_skip = v.template get<std::vector<std::string>>();
           }},
      {.path = "freeze",
       .kind = ValueKind::texts,
       .initial = Json::array(),
       .description = "parameters to freeze, in the syntax of init_skip: `[layer1]`, or "
                      "`[\"!fc\"]` for all but one layer",
       .store = [](auto& c,
                   auto& v) { c.fine_tuning.freeze = v.template get<std::vector<std::string>>(); }},
  };
}

std::vector<std::string> check_fine_tuning(const TrainConfig& config) {
  std::vector<std::string> problems;
  const FineTuningConfig& tuning = config.fine_tuning;
  if (!tuning.init_skip.empty() && tuning.init_from.empty()) {
    problems.emplace_back(
        "init_skip needs init_from, the file that it skips names of; set init_from, or remove "
        "init_skip");
  }
  const bool elsewhere = config.resume != "auto" && config.resume != "none";
  if (!tuning.init_from.empty() && elsewhere) {
    problems.emplace_back("init_from and resume both give the first weights; remove one of them");
  }
  return problems;
}

}  // namespace dllaunch
