// Support: errors, files, shared memory and signals, for use by every room.
// Knows nothing of ranks, topologies, models or Slurm.
//
// A value, or the reason why there is none.
#pragma once

#include <cassert>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace dllaunch {

/// Named after what the user should do next. Exit codes: launcher/cli/main.cpp.
enum class ErrorKind {
  bad_request,    // makes no sense as requested: fix the command or the file
  unsatisfiable,  // makes sense, but this cluster or machine cannot do it: ask for less
  unavailable,    // a program, device or peer did not answer or is not installed
  timeout,        // it answered too late
};

struct Error {
  ErrorKind kind = ErrorKind::bad_request;
  std::string what =
      {};  // a fact, lower case, no full stop: "asked for 16 GPUs per node, node has 8"
  std::string hint = {};     // one thing to try: "use --gpus-per-node=8"; may be empty
  std::string_view id = {};  // a literal that `dllaunch explain` knows: "gpus"; empty: its kind

  /// Prefixes the error with its context: "placement: asked for 16 GPUs ...".
  Error within(std::string_view place) && {
    what = std::string(place) + ": " + what;
    return std::move(*this);
  }
  Error with_id(std::string_view its_id) && {
    id = its_id;
    return std::move(*this);
  }
};

/// The value of an operation that returns none.
struct Ok {};

/// Either a T or an Error. Accessing the one that is absent is a bug and asserts.
template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit on purpose: `return value;` and `return Error{...};` just work.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }

  T& operator*() & {
    assert(*this);
    return *std::get_if<0>(&state_);
  }
  const T& operator*() const& {
    assert(*this);
    return *std::get_if<0>(&state_);
  }
  T&& operator*() && {
    assert(*this);
    return std::move(*std::get_if<0>(&state_));
  }
  T* operator->() {
    assert(*this);
    return std::get_if<0>(&state_);
  }
  const T* operator->() const {
    assert(*this);
    return std::get_if<0>(&state_);
  }

  const Error& error() const& {
    assert(!*this);
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    assert(!*this);
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

}  // namespace dllaunch
