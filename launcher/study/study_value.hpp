// What a run of a study measured.
#pragma once

#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"
#include "launcher/study/study.hpp"

namespace dllaunch {

/// Sets state, value, epoch_s and parts from a run's directory, or the reason why there is no
/// value: no summary, another end than completed, no line that matches, no number in it.
/// `train:` gives images/s without the first epoch; `run:` the last number that study.value finds
/// in the output of rank 0, or steps per second of the lines that study.step finds.
void measure(System& system, const std::string& run_dir, const Job& job, StudyRun& run);

}  // namespace dllaunch
