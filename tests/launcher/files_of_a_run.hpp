// The paths of everything that may stand in a run's directory.
#pragma once

#include <string>
#include <vector>

namespace dllaunch {

/// One of each row of the table (run_dir_files.hpp), folders among them, and what is read in them.
/// A row without a name of it in files_of_a_run.cpp fails the test.
std::vector<std::string> files_of_a_run();

}  // namespace dllaunch
