// The communicator of this rank, for tests that run under mpirun.
#pragma once

#include <memory>
#include <stdexcept>
#include <string_view>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/opening/communicators.hpp"

namespace dllaunch {

inline std::unique_ptr<Communicator> all_ranks(std::string_view name = "auto") {
  auto env = read_rank_env(process_environment());
  if (!env) throw std::runtime_error(env.error().what);
  auto opened = open_communicator(name, *env);
  if (!opened) throw std::runtime_error(opened.error().what);
  return *std::move(opened);
}

}  // namespace dllaunch
