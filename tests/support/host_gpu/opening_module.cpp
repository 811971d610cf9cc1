// A module as dltrain loads it; returns its arguments.
#include "trainer/backends/gpu/opening/gpu_opening.hpp"

extern "C" void answer_opening(dllaunch::gpu::GpuOpening& opening) {
  opening.opened = dllaunch::Error{dllaunch::ErrorKind::unavailable,
                                   "rank " + std::to_string(opening.rank.rank) + " of " +
                                       opening.lookup("DLLAUNCH_ANSWER").value_or("nobody"),
                                   ""};
}
