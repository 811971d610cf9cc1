#include "launcher/autopsy/native_stacks.hpp"

namespace dllaunch {

void read_native_stacks(int, std::vector<ThreadStack>& threads,
                        std::chrono::steady_clock::time_point) {
  for (ThreadStack& thread : threads) {
    thread.why_not = "this dllaunch was built without elfutils, which native stacks need";
  }
}

}  // namespace dllaunch
