// Recorded by ownership_durability_test.cpp: takes a run directory again and again, and notes each
// token once it is taken.

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "runtime/rank/run_ownership.hpp"

int main(int argc, char** argv) {
  using Note = void (*)(const char*);
  const auto note = reinterpret_cast<Note>(dlsym(RTLD_DEFAULT, "dllaunch_record_note"));
  if (argc != 2 || note == nullptr) return 2;
  for (int i = 0; i < 12; ++i) {
    const auto ownership = dllaunch::RunOwnership::take(std::filesystem::path(argv[1]) / "run",
                                                        {.host = "n1", .pid = 7});
    if (!ownership) return 1;
    note(std::to_string(ownership->fencing_token()).c_str());
  }
  return 0;
}
