#include "launcher/job/short_forms.hpp"

#include <gtest/gtest.h>

#include "launcher/job/job_file.hpp"

namespace dllaunch {
namespace {

ParsedJob read(const std::string& text, const std::vector<std::string>& sets = {}) {
  return parse_job("name: a\n" + text + "\n", "job.yaml", sets);
}

/// The resolved job; null, and a failure, if there is none.
Json resolved(const std::string& text) {
  const auto parsed = read(text);
  EXPECT_TRUE(parsed.job) << render(parsed.problems, false);
  return parsed.job ? parsed.job->resolved : Json();
}

TEST(ShortForms, AreTheirFullForms) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"train: {model: cnn, dataset: cifar10}", "train: {model: cnn, dataset: {kind: cifar10}}"},
      {"train: {model: cnn, optimizer: adam}", "train: {model: cnn, optimizer: {name: adam}}"},
      {"train: {model: cnn, lr_schedule: cosine}",
       "train: {model: cnn, lr_schedule: {decay: cosine}}"},
      {"run: x\nresources: {time: 2h}", "run: x\nresources: {time: '02:00:00'}"},
      {"run: x\nresources: {time: 30m}", "run: x\nresources: {time: '00:30:00'}"},
      {"run: x\nresources: {time: 1d12h}", "run: x\nresources: {time: '1-12:00:00'}"},
      {"run: x\nresources: {memory: 64GB}", "run: x\nresources: {memory: {per_node: 64G}}"},
      {"run: x\nresources: {memory: {per_rank: 4 GiB}}",
       "run: x\nresources: {memory: {per_rank: 4G}}"},
      {"run: x\nresources: {memory: {per_gpu: 40g}}",
       "run: x\nresources: {memory: {per_gpu: 40G}}"},
      {"run: x\nresources: {nodes: 2-4}",
       "run: x\nresources: {nodes: 4}\nrecovery: {min_nodes: 2}"},
      {"run: x\nresources: {nodes: 2-4}\nrecovery: {min_nodes: 3}",
       "run: x\nresources: {nodes: 4}\nrecovery: {min_nodes: 3}"},
      {"run: x\nresources: {switches: 2}", "run: x\nresources: {switches: {count: 2}}"},
      {"run: x\nresources: {switches: {count: 2, wait: 10m}}",
       "run: x\nresources: {switches: {count: 2, wait: '00:10:00'}}"},
      {"run: x\nenvironment: [A=1, 'B=x y=z', C=]",
       "run: x\nenvironment: {variables: {A: 1, B: x y=z, C: ''}}"},
      {"run: x\nenvironment: {variables: [A=null]}",
       "run: x\nenvironment: {variables: {A: 'null'}}"},
      {"run: x\nenvironment: {container: a.sif}",
       "run: x\nenvironment: {container: {image: a.sif}}"},
      {"run: x\nresources: {gpus: 8, nodes: 2}", "run: x\nresources: {nodes: 2, gpus_per_node: 4}"},
      {"run: x\nresources: {gpus: 8, gpus_per_node: 4}",
       "run: x\nresources: {nodes: 2, gpus_per_node: 4}"},
      {"run: torchrun --nnodes 2 --nproc_per_node=4 t.py --lr 1",
       "run: python3 -u t.py --lr 1\nframework: pytorch\n"
       "resources: {nodes: 2, ranks_per_node: 4}"},
      {"run: [torchrun, t.py, a b]", "run: \"python3 -u t.py 'a b'\"\nframework: pytorch"},
  };
  for (const auto& [brief, full] : pairs) {
    EXPECT_EQ(resolved(brief), resolved(full)) << brief;
  }
}

TEST(ShortForms, ASetNumberOfNodesReplacesAWholeRange) {
  const std::string range = "run: x\nresources: {nodes: 2-4}";
  const auto three = read(range, {"resources.nodes=3", "resources.time=2h"});
  ASSERT_TRUE(three.job) << render(three.problems, false);
  EXPECT_EQ(three.job->resources.nodes, 3);
  EXPECT_EQ(three.job->recovery.min_nodes, 0);
  const auto other = read("run: x\nresources: {nodes: 3}", {"resources.nodes=2-4"});
  ASSERT_TRUE(other.job) << render(other.problems, false);
  EXPECT_EQ(other.job->resolved, resolved(range));
  const auto fewest = read(range, {"recovery.min_nodes=3"});
  ASSERT_TRUE(fewest.job) << render(fewest.problems, false);
  EXPECT_EQ(fewest.job->resources.nodes, 4);
  EXPECT_EQ(fewest.job->recovery.min_nodes, 3);
}

TEST(ShortForms, TakeOverridesInEitherForm) {
  const auto set = [](const std::string& text, const std::vector<std::string>& sets) {
    const auto parsed = read(text, sets);
    EXPECT_TRUE(parsed.job) << render(parsed.problems, false);
    return parsed.job ? parsed.job->resolved : Json();
  };
  const auto train = set("train: {model: cnn, optimizer: adam}", {"train.optimizer.lr=0.5"});
  EXPECT_EQ(train["train"]["optimizer"]["name"], "adam");
  EXPECT_EQ(train["train"]["optimizer"]["lr"], 0.5);
  const auto run =
      set("run: x\nenvironment: [A=1]", {"environment.variables.B=2", "resources.time=2h"});
  EXPECT_EQ(run["environment"]["variables"], Json::parse(R"({"A": "1", "B": "2"})"));
  EXPECT_EQ(run["resources"]["time"], "02:00:00");
}

TEST(ShortForms, OfASharedValueLeaveTheOtherOneAlone) {
  const auto parsed = parse_job(
      "name: &n a\nrun: x\nenvironment: {variables: {T: &t 2h}}\nresources: {time: *t}\n", "f", {});
  ASSERT_TRUE(parsed.job) << render(parsed.problems, false);
  EXPECT_EQ(parsed.job->resources.time, "02:00:00");
  EXPECT_EQ(parsed.job->environment.variables[0].second, "2h");
}

TEST(ShortForms, ExpandOnceAndForAll) {
  const auto document =
      parse_yaml("time: 2h\nenvironment: [A=1]\ntrain: {optimizer: adam, dataset: 5}\n", 0);
  const Json schema = Json::parse(R"({"properties": {"environment": {"type": ["array"],
      "x-short": "variables", "properties": {"variables": {}}}}})");
  EXPECT_TRUE(expand_short_forms(schema, *document.root).empty());
  const YamlNode once = *document.root->entries[1].value;
  EXPECT_EQ(once.kind, YamlKind::mapping);
  EXPECT_TRUE(expand_short_forms(schema, *document.root).empty());
  const YamlNode& again = *document.root->entries[1].value;
  EXPECT_EQ(again.entries[0].value->entries[0].key, "A");
  EXPECT_EQ(again.entries[0].value->entries.size(), 1u);
}

}  // namespace
}  // namespace dllaunch
