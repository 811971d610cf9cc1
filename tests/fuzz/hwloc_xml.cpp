// hwloc XML from outside: hwloc itself may crash on it, in a child. What is tried here is our side
// of that: the parent lives, answers in time, and what it accepts can be used.
#include <chrono>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "support/json.hpp"
#include "tests/fuzz/must_hold.hpp"
#include "topology/discovery/discover_hwloc.hpp"
#include "topology/discovery/topology_format.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dllaunch;
  const int file = memfd_create("hwloc.xml", 0);
  must_hold(file >= 0 && write(file, data, size) == static_cast<ssize_t>(size),
            "there is memory for the file");
  const auto path = "/proc/self/fd/" + std::to_string(file);
  const auto begin = std::chrono::steady_clock::now();
  const auto topology = topology_from_xml(path);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  close(file);
  must_hold(took < std::chrono::seconds(20), "it answers within its deadline");
  if (!topology) {
    must_hold(topology.error().kind == ErrorKind::bad_request, "a refused file is a bad request");
    must_hold(topology.error().what.find(path) != std::string::npos, "the refusal names the file");
    return 0;
  }
  must_hold(!topology->cores.empty(), "an accepted machine has CPUs");
  must_hold(topology->cpus().contains(topology->allowed_cpus), "allowed CPUs exist");
  must_hold(static_cast<bool>(topology_from_json(to_json(*topology))), "it can be written down");
  return 0;
}
