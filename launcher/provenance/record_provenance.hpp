// Records where a run comes from, in its directory.
#pragma once

#include <string>
#include <vector>

#include "launcher/job/job.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/system.hpp"
#include "launcher/provenance/provenance.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

struct LaunchPlan;

struct ProvenanceRequest {
  std::string job_file = {};                // as the user named it
  std::vector<std::string> sets = {};       // --set
  std::vector<std::string> variables = {};  // the names of this process's
  Readers readers = Readers::none;          // those of the job file's copies
};

/// Writes RUN/provenance.json, RUN/job.given.yaml (the job file as the user wrote it) and, where
/// the job wants it, RUN/code.diff. All of it is best effort: what could not be done is logged, and
/// the run goes on. Bounded: 2 s for each question to git, 2 s for mpirun, 5 s for Python.
void record_provenance(System& system, const RunDir& run, const Job& job, const LaunchPlan& plan,
                       const ProvenanceRequest& request);

/// RUN/provenance.json; no submissions if there is none. bad_request: it is damaged.
Result<Provenance> read_provenance(System& system, const RunDir& run);

}  // namespace dllaunch
