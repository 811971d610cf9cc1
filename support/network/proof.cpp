#include "support/network/proof.hpp"

#include <fmt/core.h>
#include <sodium.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <span>

namespace dllaunch {
namespace {

constexpr std::size_t hash_bytes = 32;
constexpr std::size_t proof_digits = 2 * hash_bytes;
using Hash = std::array<unsigned char, hash_bytes>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string digits_of(std::span<const unsigned char> bytes) {
  std::string digits(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(digits.data(), digits.size(), bytes.data(), bytes.size());
  digits.pop_back();
  return digits;
}

std::string random_digits(std::size_t bytes) {
  // Repeated calls are free. It fails only if the kernel has no random numbers.
  if (sodium_init() < 0) std::abort();
  std::string random(bytes, '\0');
  randombytes_buf(random.data(), random.size());
  return digits_of({bytes_of(random), random.size()});
}

/// Keyed BLAKE2b; keys up to 64 bytes. Lengths are hashed first, so that the parts are unambiguous.
Hash keyed_hash(std::string_view key, std::initializer_list<std::string_view> texts) {
  crypto_generichash_state state{};
  crypto_generichash_init(&state, bytes_of(key), key.size(), hash_bytes);
  for (const auto text : texts) {
    const auto length = fmt::format("{} ", text.size());
    crypto_generichash_update(&state, bytes_of(length), length.size());
    crypto_generichash_update(&state, bytes_of(text), text.size());
  }
  Hash hash{};
  crypto_generichash_final(&state, hash.data(), hash.size());
  return hash;
}

/// Hashes the secret: users also choose secrets, of any length.
Hash key_of(std::string_view secret) {
  return keyed_hash("", {"dllaunch", secret});
}

std::string keyed_digits(std::string_view secret, std::initializer_list<std::string_view> texts) {
  const Hash key = key_of(secret);
  return digits_of(keyed_hash({reinterpret_cast<const char*>(key.data()), key.size()}, texts));
}

}  // namespace

std::string new_secret() {
  return random_digits(hash_bytes);
}

std::string new_nonce() {
  return random_digits(hash_bytes / 2);
}

std::string secret_of(std::string_view lasting_secret, std::string_view start_name) {
  return keyed_digits(lasting_secret, {"start", start_name});
}

std::string seal(std::string_view secret, std::string_view purpose, std::string_view nonce,
                 std::string_view body) {
  return fmt::format("{} {}\n", keyed_digits(secret, {"line", purpose, nonce, body}), body);
}

std::string_view body_of(std::string_view line) {
  return line.size() > proof_digits ? line.substr(proof_digits + 1) : std::string_view();
}

std::optional<std::string> unseal(std::string_view secret, std::string_view purpose,
                                  std::string_view nonce, std::string_view line) {
  // An empty secret proves nothing.
  if (secret.empty() || line.size() <= proof_digits || line[proof_digits] != ' ')
    return std::nullopt;
  const auto body = body_of(line);
  const auto right = keyed_digits(secret, {"line", purpose, nonce, body});
  if (sodium_memcmp(right.data(), line.data(), proof_digits) != 0) return std::nullopt;
  return std::string(body);
}

}  // namespace dllaunch
