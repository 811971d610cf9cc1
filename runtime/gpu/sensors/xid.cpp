#include "runtime/gpu/sensors/xid.hpp"

#include <algorithm>
#include <array>

namespace dllaunch {
namespace {

constexpr std::string_view program =
    "the program did something wrong on the GPU; if it recurs on this GPU alone, tell the "
    "administrators";

struct Entry {
  unsigned xid;
  XidWords words;
};

// Paraphrased from NVIDIA's "XID Errors" (docs.nvidia.com/deploy/xid-errors).
constexpr std::array entries = {
    Entry{13, {"a kernel ended with an exception", program}},
    Entry{31, {"a kernel accessed memory that does not exist", program}},
    Entry{43, {"a process of the GPU was stopped", program}},
    Entry{45, {"a process of the GPU was cleared away", "see what ended it: it may be the result"}},
    Entry{48, {"a memory error that could not be corrected", replace_gpu}},
    Entry{62, {"its power controller has halted", replace_gpu}},
    Entry{63, {"a broken memory row is to be replaced", "it is replaced at the next reset"}},
    Entry{64, {"a broken memory row could not be replaced", replace_gpu}},
    Entry{74,
          {"an NVLink failed",
           "tell the administrators: a link, its bridge or the peer may be broken"}},
    Entry{79, {"it has fallen off the bus", replace_gpu}},
    Entry{92, {"many memory errors were corrected", "tell the administrators if it continues"}},
    Entry{94,
          {"a memory error that ended one program only", "start again; tell the administrators"}},
    Entry{95, {"an uncontained memory error", replace_gpu}},
    Entry{119, {"its system processor does not answer", replace_gpu}},
    Entry{120, {"its system processor has failed", replace_gpu}},
};

}  // namespace

XidWords xid_words(unsigned xid) {
  const auto* found = std::ranges::find(entries, xid, &Entry::xid);
  if (found != entries.end()) return found->words;
  return {"an error of its driver or hardware", "look it up in NVIDIA's list of XID errors"};
}

}  // namespace dllaunch
