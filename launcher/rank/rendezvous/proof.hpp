// Lines that prove that their writer knows a secret, without showing it. By libsodium.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dllaunch {

/// Random bits as hexadecimal digits: 256 for a secret, 128 for what is used once.
std::string new_secret();
std::string new_nonce();

/// The secret of one start, from something that serves for many; always of the same length.
std::string secret_of(std::string_view lasting_secret, std::string_view start_name);

/// "PROOF BODY\n". The proof covers what the line is for, whom it answers (the nonce of the
/// question; empty: it is no answer) and the body, which has no line end.
std::string seal(std::string_view secret, std::string_view purpose, std::string_view nonce,
                 std::string_view body);
/// The body; nothing where the proof is not that of this secret, purpose and nonce. `line`: without
/// its end. Compares in constant time.
std::optional<std::string> unseal(std::string_view secret, std::string_view purpose,
                                  std::string_view nonce, std::string_view line);
/// What stands in the place of the body, proven or not.
std::string_view body_of(std::string_view line);

}  // namespace dllaunch
