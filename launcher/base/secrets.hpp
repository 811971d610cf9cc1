// Keeps secrets out of pages that people share.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch {

/// Whether a variable, key or option of this name probably holds a secret: one of its words ends
/// with token, password, secret or the like, or is key, pass, auth or the like ("WANDB_API_KEY",
/// "hfToken", "--db-password"; not "keyboard", "tokenizer").
bool is_secret_name(std::string_view name);

/// A job file, or what a program said, without secrets: after such a name and `:`, `=`, a blank
/// (options alone) or a list's comma, the rest of the line is "(left out)", and so is a block or a
/// list below it; in `://user:password@host` what stands before the host is. It leaves out too much
/// rather than too little. A newline that is written as \n ends a line too.
std::string without_secrets(std::string_view text);

}  // namespace dllaunch
