#include "launcher/plan/transport_plan.hpp"

#include <gmock/gmock.h>

#include <utility>

#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

Job two_ranks(Job job, const std::string& transport) {
  job.resources.ranks_per_node = 2;
  return with_transport(std::move(job), transport);
}

Facts without_mpirun() {
  auto facts = one_machine("cores:2");
  facts.no_mpirun = true;
  return facts;
}

Facts without_pmix() {
  auto facts = small_cluster();
  facts.slurm->mpi_types = {"none", "pmi2"};
  return facts;
}

std::string words_of(const LaunchPlan& plan) {
  return plan.transport + ", " + plan.why_transport;
}

TEST(TransportPlan, OnThisMachineMpirunStartsTheRanksWhereItIs) {
  const auto job = two_ranks(train_job(), "auto");
  const auto there = planned(job, one_machine("cores:2"));
  EXPECT_EQ(there.start.kind(), Starter::mpirun);
  EXPECT_EQ(words_of(there), "mpi, since mpirun starts the ranks");
  const auto missing = planned(job, without_mpirun());
  EXPECT_EQ(missing.start.kind(), Starter::spawn);
  EXPECT_EQ(words_of(missing), "tcp, since mpirun is not installed here");
  EXPECT_THAT(missing.environment, Not(Contains(Pair("DLLAUNCH_TRANSPORT", testing::_))));
}

TEST(TransportPlan, WithoutAnMpiModuleTheTrainerStartsWithoutMpi) {
  auto here = one_machine("cores:2");
  auto cluster = small_cluster();
  here.no_mpi_module = cluster.no_mpi_module = true;
  const std::string words =
      "tcp, since there is no MPI module: dllaunch build-mpi-module makes one";
  const auto local = planned(two_ranks(train_job(), "auto"), here);
  EXPECT_EQ(local.start.kind(), Starter::spawn);
  EXPECT_EQ(words_of(local), words);
  const auto job = planned(two_ranks(train_job(), "auto"), cluster);
  EXPECT_THAT(job.start.options, Contains("--mpi=none"));
  EXPECT_EQ(words_of(job), words);
  // Ranks say which module is missing where the job insists; a command has an MPI of its own.
  EXPECT_EQ(planned(two_ranks(train_job(), "mpi"), here).start.kind(), Starter::mpirun);
  EXPECT_EQ(planned(two_ranks(run_job(), "auto"), here).start.kind(), Starter::mpirun);
  auto named = two_ranks(train_job(), "auto");
  named.environment.variables = {{"DLLAUNCH_MPI_MODULE", "/opt/libdltrain_mpi.so"}};
  EXPECT_EQ(planned(named, here).start.kind(), Starter::mpirun);
}

TEST(TransportPlan, TheKeyDecidesAndReachesTheRanks) {
  const auto tcp = planned(two_ranks(train_job(), "tcp"), one_machine("cores:2"));
  EXPECT_EQ(tcp.start.kind(), Starter::spawn);
  EXPECT_EQ(words_of(tcp), "tcp, as runtime.transport says");
  EXPECT_THAT(tcp.environment, Contains(Pair("DLLAUNCH_TRANSPORT", "tcp")));
  EXPECT_THAT(tcp.train_json, Not(HasSubstr("transport"))) << "the trainer has no such key";
  const auto mpi = planned(two_ranks(train_job(), "mpi"), without_mpirun());
  EXPECT_EQ(mpi.start.kind(), Starter::mpirun);
  EXPECT_THAT(mpi.environment, Contains(Pair("DLLAUNCH_TRANSPORT", "mpi")));
}

TEST(TransportPlan, TheVariableInTheJobFileComesBeforeTheKey) {
  auto job = two_ranks(train_job(), "mpi");
  job.environment.variables = {{"DLLAUNCH_TRANSPORT", "tcp"}};
  const auto made = planned(job, one_machine("cores:2"));
  EXPECT_EQ(made.start.kind(), Starter::spawn);
  EXPECT_EQ(words_of(made), "tcp, as DLLAUNCH_TRANSPORT says");
  EXPECT_THAT(made.environment, ElementsAre(Pair("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
                                            Pair("DLLAUNCH_TRANSPORT", "tcp")));
}

TEST(TransportPlan, ACommandThatMayNeedMpiGetsMpirun) {
  auto job = two_ranks(run_job(), "auto");
  const auto starter = [&] { return planned(job, without_mpirun()).start.kind(); };
  EXPECT_EQ(starter(), Starter::spawn);
  job.environment.modules = {"openmpi"};
  EXPECT_EQ(starter(), Starter::mpirun) << "the module may bring it";
  job.framework = "pytorch";
  EXPECT_EQ(starter(), Starter::spawn);
  for (const char* framework : {"mpi", "horovod"}) {
    job.framework = framework;
    EXPECT_EQ(starter(), Starter::mpirun) << framework;
  }
  job.framework = "mpi";
  job.runtime = {{"transport", "tcp"}};
  EXPECT_EQ(problem_of(job, without_mpirun()),
            "framework: mpi needs ranks that are started with MPI, and runtime.transport is tcp "
            "(leave out runtime.transport)");
  EXPECT_EQ(problem_of(job, small_cluster()), problem_of(job, without_mpirun()));
}

TEST(TransportPlan, OnSlurmTheTrainerNeedsNoPmix) {
  auto job = two_ranks(train_job(), "auto");
  const auto by_pmix = planned(job, small_cluster());
  EXPECT_THAT(by_pmix.start.argv(), Contains("--mpi=pmix"));
  EXPECT_EQ(words_of(by_pmix), "mpi, since srun --mpi=pmix starts the ranks");
  const auto without = planned(job, without_pmix());
  EXPECT_THAT(without.start.argv(), Contains("--mpi=none"));
  EXPECT_EQ(words_of(without), "tcp, since srun has no PMIx here");
  const auto tcp = planned(two_ranks(train_job(), "tcp"), small_cluster());
  EXPECT_THAT(tcp.start.argv(), Contains("--mpi=none"));
  EXPECT_EQ(words_of(tcp), "tcp, as runtime.transport says");
  EXPECT_THAT(tcp.environment, Not(Contains(Pair("SLURM_PMIX_FENCE", testing::_))));
  const auto mpi = planned(two_ranks(train_job(), "mpi"), without_pmix());
  EXPECT_EQ(mpi.start.kind(), Starter::mpirun);
  EXPECT_EQ(words_of(mpi), "mpi, as runtime.transport says");
  job.resources.srun_extra = {"--mpi=none"};
  EXPECT_EQ(words_of(planned(job, small_cluster())),
            "tcp, since resources.srun_extra has --mpi=none");
}

TEST(TransportPlan, ACommandIsStartedWithMpiUnlessTheKeySaysOtherwise) {
  const auto mpi_of = [](const std::string& transport, const Facts& facts) {
    const auto made = planned(two_ranks(run_job(), transport), facts);
    EXPECT_EQ(made.transport, "") << "the command has its own";
    for (const auto& option : made.start.options)
      if (option.starts_with("--mpi=")) return option;
    return made.start.starter;
  };
  EXPECT_EQ(mpi_of("auto", small_cluster()), "--mpi=pmix");
  EXPECT_EQ(mpi_of("auto", without_pmix()), "--mpi=pmi2");
  EXPECT_EQ(mpi_of("tcp", small_cluster()), "--mpi=none");
  auto none = without_pmix();
  none.slurm->mpi_types = {"none"};
  EXPECT_EQ(mpi_of("auto", none), "--mpi=none");
  EXPECT_EQ(mpi_of("mpi", none), "mpirun");
}

TEST(TransportPlan, OneRankHasNone) {
  auto job = two_ranks(train_job(), "tcp");
  job.resources.ranks_per_node = 1;
  EXPECT_EQ(planned(job, one_machine("cores:2")).transport, "");
}

}  // namespace
}  // namespace dllaunch
