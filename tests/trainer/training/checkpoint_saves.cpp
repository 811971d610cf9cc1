// The program that durability_test.cpp traces: an incarnation of a run that starts after a given
// step, with saves that prune and replace. Prints the number of each completed save.

#include <dlfcn.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/trainer/checkpoints/sound_checkpoint.hpp"

int main(int argc, char** argv) {
  using Note = void (*)(const char*);
  const auto note = reinterpret_cast<Note>(dlsym(RTLD_DEFAULT, "dllaunch_record_note"));
  if (argc != 3 || note == nullptr) return 2;
  const auto folder = std::filesystem::path(argv[1]) / "run" / "checkpoints";
  const int begin = std::stoi(argv[2]);
  int save = begin * 10;
  for (const int step : {1, 2, 2, 3, 3, 4}) {
    auto checkpoint = dllaunch::sound_checkpoint(begin + step);
    checkpoint.seed = static_cast<std::uint64_t>(++save);
    checkpoint.metrics = {{"loss", 1.0 / save}};
    const auto written = dllaunch::write_checkpoint(folder, std::move(checkpoint),
                                                    {.keep = step < 4 ? 2 : 1, .best = "loss"});
    if (!written) {
      std::fprintf(stderr, "%s\n", written.error().what.c_str());
      return 1;
    }
    note(std::to_string(save).c_str());
  }
  return 0;
}
