#include "launcher/plan/start_command.hpp"

#include <gmock/gmock.h>

#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Words = std::vector<std::string>;

void expect_same(const StartCommand& read, const StartCommand& made) {
  EXPECT_EQ(read.starter, made.starter);
  EXPECT_EQ(read.options, made.options);
  EXPECT_EQ(read.shim, made.shim);
  EXPECT_EQ(read.program, made.program);
}

TEST(StartCommand, IsTheSameAfterBeingWordsOnly) {
  auto pyxis = run_job();
  pyxis.environment.container = Container{.image = "/images/a.sqsh", .runtime = "enroot"};
  auto with_pyxis = small_cluster();
  with_pyxis.slurm->pyxis = true;
  auto without_pmix = small_cluster();
  without_pmix.slurm->mpi_types = {"none"};
  auto without_mpirun = one_machine("cores:2");
  without_mpirun.no_mpirun = true;
  auto on_two_nodes = train_job();
  on_two_nodes.resources.nodes = 2;
  on_two_nodes.runtime = {{"transport", "mpi"}};
  for (const auto& plan :
       {planned(run_job(), lumi_like()), planned(train_job(), small_cluster()),
        planned(train_job(), one_machine("cores:2")), planned(train_job(), without_mpirun),
        planned(pyxis, with_pyxis), planned(on_two_nodes, without_pmix)}) {
    EXPECT_THAT(plan.start.shim, testing::Contains("exec"));
    expect_same(start_command_of(plan.start.argv()), plan.start);
  }
}

TEST(StartCommand, KnowsItsStarter) {
  EXPECT_EQ(StartCommand{}.kind(), Starter::none);
  EXPECT_EQ(start_command_of({"srun", "-n", "2", "app"}).kind(), Starter::srun);
  EXPECT_EQ(start_command_of({"mpirun", "app"}).kind(), Starter::mpirun);
  EXPECT_EQ(start_command_of({"aprun", "app"}).kind(), Starter::aprun);
  EXPECT_EQ(start_command_of({"jsrun", "app"}).kind(), Starter::other);
  EXPECT_EQ(start_command_of({"/opt/dllaunch", "spawn", "--np", "2", "app"}).kind(),
            Starter::spawn);
}

TEST(StartCommand, TheProgramMayLookLikeAShim) {
  const auto start = start_command_of({"srun", "--label", "/opt/dllaunch", "exec", "--run-dir",
                                       "/runs/a", "--", "podman", "exec", "--run-dir", "x", "--"});
  EXPECT_THAT(start.options, ElementsAre("--label"));
  EXPECT_THAT(start.shim, ElementsAre("/opt/dllaunch", "exec", "--run-dir", "/runs/a", "--"));
  EXPECT_THAT(start.program, ElementsAre("podman", "exec", "--run-dir", "x", "--"));
  EXPECT_EQ(start.shim_position(), 2U);
}

TEST(StartCommand, WordsOfOthersAreAllKept) {
  for (const Words& argv :
       {Words{}, Words{"srun"}, Words{"aprun", "-n", "8", "python3"}, Words{"exec", "--run-dir"},
        Words{"a", "exec", "--run-dir", "b"}, Words{"srun", "d", "exec", "--run-dir", "b"}})
    EXPECT_EQ(start_command_of(argv).argv(), argv);
  EXPECT_THAT(start_command_of({"srun", "-n", "2", "app"}).shim, IsEmpty());
}

}  // namespace
}  // namespace dllaunch
