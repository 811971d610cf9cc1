// The module's only entry point. dltrain and the module are built together, so C++ types may cross.
#include "runtime/communicators/nccl/nccl.hpp"
#include "runtime/communicators/nccl/nccl_communicator.hpp"

extern "C" void dllaunch_open_nccl(dllaunch::NcclOpening& opening) {
  opening.opened = dllaunch::NcclCommunicator::open(*opening.host, *opening.env);
}
