// The module's one entry. dltrain and the module are built together: C++ passes between them.
#include <utility>

#include "runtime/communicators/nccl/nccl.hpp"
#include "runtime/communicators/nccl/nccl_communicator.hpp"

extern "C" void dllaunch_open_nccl(dllaunch::NcclOpening& opening) {
  opening.opened = dllaunch::NcclCommunicator::open(std::move(opening.host), *opening.env);
}
