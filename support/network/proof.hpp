// Authenticated lines: they prove knowledge of a secret without revealing it. Uses libsodium.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dllaunch {

/// Returns random hexadecimal digits: 256 bits for a secret, 128 for a nonce.
std::string new_secret();
std::string new_nonce();

/// Derives the secret of one start from a lasting secret; the length is fixed.
std::string secret_of(std::string_view lasting_secret, std::string_view start_name);

/// Returns "PROOF BODY\n". The proof covers the purpose, the nonce of the question it answers
/// (empty: not an answer) and the body, which must not contain a newline.
std::string seal(std::string_view secret, std::string_view purpose, std::string_view nonce,
                 std::string_view body);
/// Returns the body; nullopt if the proof does not match secret, purpose and nonce. `line`: without
/// newline. Compares in constant time.
std::optional<std::string> unseal(std::string_view secret, std::string_view purpose,
                                  std::string_view nonce, std::string_view line);
/// Returns the body without checking the proof.
std::string_view body_of(std::string_view line);

}  // namespace dllaunch
