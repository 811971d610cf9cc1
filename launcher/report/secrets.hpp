// Keeps secrets out of pages that people share.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch {

/// Whether a variable or key of this name probably holds a secret: it has a word such as TOKEN,
/// SECRET, PASSWORD or KEY ("WANDB_API_KEY", "hfToken"; not "keyboard").
bool is_secret_name(std::string_view name);

/// The text of a job file without the values of such names, in `NAME: value`, `NAME=value` and
/// `--name value`; "(left out)" stands for each.
std::string without_secrets(std::string_view text);

}  // namespace dllaunch
