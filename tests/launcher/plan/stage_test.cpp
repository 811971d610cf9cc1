#include "launcher/plan/stage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/plan/plan.hpp"
#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Facts cluster_of(int nodes) {
  auto facts = small_cluster();
  auto& hosts = facts.slurm->partitions[0].node_types[0].hosts;
  hosts.clear();
  for (int n = 1; n <= nodes; ++n) hosts.push_back("n" + std::to_string(n));
  return facts;
}

LaunchPlan on_nodes(Job job, int nodes) {
  job.resources.nodes = nodes;
  return planned(job, cluster_of(nodes));
}

TEST(Stage, NamesAreThePathsLastPartsWithoutArchiveSuffixes) {
  EXPECT_EQ(staged_name("/scratch/imagenet"), "imagenet");
  EXPECT_EQ(staged_name("/scratch/imagenet/"), "imagenet");
  EXPECT_EQ(staged_name("/scratch/imagenet.tar.gz"), "imagenet");
  EXPECT_EQ(staged_name("/scratch/imagenet.tar.zst"), "imagenet");
  EXPECT_EQ(staged_name("/scratch/words.zip"), "words");
  EXPECT_EQ(staged_name("/scratch/train.h5"), "train.h5");
  EXPECT_EQ(staged_name("/scratch/.tar"), ".tar");
  EXPECT_EQ(archive_kind("a.tgz"), ArchiveKind::tar);
  EXPECT_EQ(archive_kind("a.zip"), ArchiveKind::zip);
  EXPECT_EQ(archive_kind("tar"), ArchiveKind::none);
}

TEST(Stage, RelativePathsAreBelowTheFolderOfTheCall) {
  const auto stage = plan_stage({"data/a.tar", "/abs/b/", "../c"}, 2, "/home/me/p");
  EXPECT_THAT(stage.sources, ElementsAre("/home/me/p/data/a.tar", "/abs/b", "/home/me/c"));
  EXPECT_FALSE(stage.programs);
  EXPECT_FALSE(stage.broadcast);
}

TEST(Stage, TwoOfOneNameAreRefused) {
  auto job = run_job();
  job.stage = {"/a/data.tar", "/b/data"};
  EXPECT_EQ(problem_of(job, small_cluster()),
            "stage: /a/data.tar and /b/data would both become {stage}/data (rename one of them, or "
            "put both into one directory and stage that)");
  job.stage = {"/"};
  EXPECT_THAT(problem_of(job, small_cluster()), HasSubstr("has no name"));
}

TEST(Stage, AboveThirtyTwoNodesThePrograms) {
  const auto few = on_nodes(train_job(), 32);
  EXPECT_FALSE(few.stage.wanted());
  EXPECT_THAT(few.start.argv(), Not(testing::Contains("--staged")));

  const auto many = on_nodes(train_job(), 33);
  EXPECT_TRUE(many.stage.programs);
  EXPECT_THAT(many.start.program, ElementsAre("{stage}/.dllaunch/bin/dltrain", "--config",
                                              "{stage}/.dllaunch/train.json", "--run-dir",
                                              "/scratch/me/runs/job-20261120-200000-ab12"));
  EXPECT_THAT(many.start.argv(), testing::Contains("{stage}/.dllaunch/bin/dllaunch"));
  EXPECT_THAT(render_plan(many),
              HasSubstr("stage: dllaunch, dltrain and its libraries -> each node's own disk, as "
                        "above 32 nodes; `stage: [no-programs]` turns it off"));
  EXPECT_EQ(to_json(many)["stage"]["programs"], true);
  const auto script = render_sbatch(many);
  EXPECT_THAT(script, HasSubstr("  \"$DLLAUNCH_STAGE\"/.dllaunch/bin/dllaunch exec "));
  EXPECT_THAT(script, HasSubstr("--broadcast --program /opt/dllaunch/bin/dllaunch --program "
                                "/opt/dllaunch/bin/dltrain -- "));

  auto off = train_job();
  off.stage = {"no-programs"};
  EXPECT_FALSE(on_nodes(off, 33).stage.wanted());
  EXPECT_EQ(render_sbatch(on_nodes(off, 33)).find("DLLAUNCH_STAGE"), std::string::npos);
}

TEST(Stage, ACommandTakesOnlyTheShimAlong) {
  const auto many = on_nodes(run_job(), 33);
  EXPECT_EQ(many.start.program, run_job().run_command);
  EXPECT_THAT(render_sbatch(many), Not(HasSubstr("--program /opt/dllaunch/bin/dltrain")));
  EXPECT_THAT(render_plan(many), HasSubstr("stage: dllaunch -> each node's own disk"));
}

TEST(Stage, AFewNodesReadForThemselvesManyAreSentTo) {
  auto job = run_job();
  job.stage = {"/scratch/me/imagenet.tar"};
  EXPECT_FALSE(on_nodes(job, 8).stage.broadcast);
  EXPECT_TRUE(on_nodes(job, 9).stage.broadcast);
  EXPECT_THAT(render_plan(on_nodes(job, 2)),
              HasSubstr("  stage: /scratch/me/imagenet.tar -> {stage}/imagenet on each node's own "
                        "disk\n"));
  const auto script = render_sbatch(on_nodes(job, 2));
  EXPECT_THAT(script,
              HasSubstr("stage --to \"$DLLAUNCH_STAGE\" --made --run-dir \"$dllaunch_run\" -- "
                        "/scratch/me/imagenet.tar || exit 3\n"));
  EXPECT_THAT(script, Not(HasSubstr("--broadcast")));
}

TEST(Stage, ContainersSeeTheFolder) {
  auto job = run_job();
  job.stage = {"/scratch/me/imagenet.tar"};
  job.environment.container = Container{.image = "/images/a.sif", .runtime = "apptainer"};
  EXPECT_THAT(on_nodes(job, 2).start.program, testing::IsSupersetOf({"--bind", "{stage}"}));
}

TEST(Stage, TheMarkBecomesTheFolderWhereverItStands) {
  EXPECT_EQ(with_stage("a {stage}/b:{stage}", "/tmp/x"), "a /tmp/x/b:/tmp/x");
  EXPECT_EQ(with_stage("{stage", "/tmp/x"), "{stage");
  EXPECT_EQ(with_stage("{stage}", "{stage}"), "{stage}");
}

TEST(Stage, LibrariesOfTheSystemStay) {
  EXPECT_THAT(own_libraries("\tlinux-vdso.so.1 (0x00007fff)\n"
                            "\tlibhwloc.so.15 => /lib/x86_64-linux-gnu/libhwloc.so.15 (0x00007f)\n"
                            "\tlibmpi.so.40 => /opt/ompi/lib/libmpi.so.40 (0x00007f)\n"
                            "\tlibodd.so => /opt/a (0x1)/libodd.so (0x00007f)\n"
                            "\tlibgone.so => not found\n"
                            "\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n"),
              ElementsAre("/opt/ompi/lib/libmpi.so.40", "/opt/a (0x1)/libodd.so"));
  EXPECT_TRUE(own_libraries("\tstatically linked\n").empty());
  EXPECT_TRUE(own_libraries("").empty());
}

}  // namespace
}  // namespace dllaunch
