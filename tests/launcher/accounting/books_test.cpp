#include "launcher/accounting/books.hpp"

#include <gtest/gtest.h>

#include "launcher/run/summary.hpp"

namespace dllaunch {
namespace {

using Words = std::vector<std::pair<std::string, std::string>>;

RunOutline outline(int nodes, NodeShare share) {
  RunOutline plan;
  plan.nodes = nodes;
  plan.occupies = share;
  return plan;
}

Words words_of(const Books& books) {
  Json summary = Json::object();
  add_json(books, summary);
  return book_words(summary);
}

TEST(Books, CountHoursOfWholeNodesWithTheSpareOnes) {
  auto plan = outline(3, {.cores = 64, .gpus = 4});
  plan.recovery.spare_nodes = 1;
  const auto books = books_of({.seconds = 1800, .wasted_seconds = 360}, plan);
  EXPECT_EQ(books.core_hours, 4 * 64 * 0.5);
  EXPECT_EQ(books.gpu_hours, 4 * 4 * 0.5);
  EXPECT_EQ(books.wasted.seconds, 360);
  EXPECT_EQ(books.wasted.core_hours, 4 * 64 * 0.1);
  EXPECT_EQ(books.wasted.gpu_hours, 4 * 4 * 0.1);
}

TEST(Books, OfAnElasticRunCountTheNodesThatItHad) {
  const auto books = books_of({.seconds = 1800, .nodes = 2.5}, outline(4, {.cores = 64}));
  EXPECT_EQ(books.core_hours, 2.5 * 64 * 0.5);
}

TEST(Books, OfAModularRunAreThoseOfItsComponents) {
  RunOutline plan;
  plan.nodes = 3;
  plan.components = {{.name = "loader", .nodes = 1, .occupies = {.cores = 128, .gpus = 0}},
                     {.name = "trainer", .nodes = 2, .occupies = {.cores = 64, .gpus = 4}}};
  const auto books = books_of({.seconds = 1800}, plan);
  EXPECT_EQ(books.core_hours, (128 + 2 * 64) * 0.5);
  EXPECT_EQ(books.gpu_hours, 2 * 4 * 0.5);
  plan.components[0].occupies.cores.reset();
  EXPECT_EQ(books_of({.seconds = 1800}, plan).core_hours, std::nullopt) << "one is unknown";
}

TEST(Books, SayUnknownAndNeverZero) {
  const auto books = books_of({.seconds = 1800}, outline(1, {}));
  Json summary = Json::object();
  add_json(books, summary);
  for (const char* key : {"core_hours", "gpu_hours", "peak_memory_bytes", "peak_memory_by_rank",
                          "peak_memory_source", "energy_joules", "energy_source", "energy_seconds"})
    EXPECT_TRUE(summary.at(key).is_null()) << key;
  for (const char* key : {"seconds", "core_hours", "gpu_hours"})
    EXPECT_TRUE(summary["wasted"].at(key).is_null()) << key;
  EXPECT_EQ(book_words(summary), (Words{{"core-hours", "unknown"},
                                        {"GPU-hours", "unknown"},
                                        {"peak memory of a rank", "unknown"},
                                        {"energy", "unknown"},
                                        {"wasted by interruptions", "unknown"}}));
  EXPECT_TRUE(book_words(Json::object()).empty()) << "of an older dllaunch";
}

TEST(Books, TakeTheMostMemoryThatIsKnownExactly) {
  RunReadings readings{.events = {.peak_memory_bytes = 70, .peak_memory_by_rank = {60, 70}},
                       .kernel_peaks = {65, std::nullopt, 50},
                       .slurm = {.peak_task_bytes = 999}};
  auto books = books_of(readings, outline(1, {}));
  EXPECT_EQ(books.peak_memory_bytes, 70);
  EXPECT_EQ(books.peak_memory_source, "trainer");
  EXPECT_EQ(books.peak_memory_by_rank, (std::vector<std::optional<std::int64_t>>{65, 70, 50}));
  readings.events = {};
  EXPECT_EQ(books_of(readings, outline(1, {})).peak_memory_source, "kernel");
  readings.kernel_peaks.clear();
  books = books_of(readings, outline(1, {}));
  EXPECT_EQ(books.peak_memory_bytes, 999);
  EXPECT_EQ(books.peak_memory_source, "sacct");
  EXPECT_TRUE(books.peak_memory_by_rank.empty());
}

TEST(Books, AddEnergyOfProcessorsAndGpusButNothingToThatOfNodes) {
  RunReadings readings{.seconds = 12,
                       .events = {.gpu_joules = 3000, .gpu_seconds = 8, .gpu_source = "nvml"},
                       .cpu_joules = 500};
  auto books = books_of(readings, outline(1, {}));
  EXPECT_EQ(books.energy_joules, 3500);
  EXPECT_EQ(books.energy_source, "rapl+nvml");
  EXPECT_EQ(books.energy_seconds, 8);
  readings.slurm.joules = 9000;
  books = books_of(readings, outline(1, {}));
  EXPECT_EQ(books.energy_joules, 9000);
  EXPECT_EQ(books.energy_source, "sacct");
  EXPECT_EQ(books.energy_seconds, 12);
}

TEST(Books, AreToldInWords) {
  RunReadings readings{.seconds = 3600,
                       .wasted_seconds = 36,
                       .events = {.peak_memory_bytes = 3LL << 29,
                                  .peak_memory_by_rank = {1, 3LL << 29},
                                  .gpu_joules = 3015.3,
                                  .gpu_seconds = 8.02,
                                  .gpu_source = "nvml"}};
  EXPECT_EQ(words_of(books_of(readings, outline(1, {.cores = 16, .gpus = 1}))),
            (Words{{"core-hours", "16"},
                   {"GPU-hours", "1"},
                   {"peak memory of a rank", "1.50 GiB (rank 1)"},
                   {"energy", "3015 J (nvml, over 8.0 s)"},
                   {"wasted by interruptions", "36.0 s, 0.16 core-hours, 0.01 GPU-hours"}}));
  readings.wasted_seconds = 0;
  EXPECT_EQ(words_of(books_of(readings, outline(1, {.cores = 16, .gpus = 0}))).size(), 3U)
      << "no GPUs, nothing wasted";
  readings.events = {};
  readings.peak_process_bytes = 5 << 19;
  EXPECT_EQ(words_of(books_of(readings, outline(1, {})))[2].second, "2.5 MiB (or of mpirun)");
  readings.slurm.peak_task_bytes = 3 << 19;
  EXPECT_EQ(words_of(books_of(readings, outline(1, {})))[2].second, "1.5 MiB (sampled)");
}

TEST(Books, OfSubmissionsAddUp) {
  const Books one{.core_hours = 2,
                  .gpu_hours = 1,
                  .peak_memory_bytes = 50,
                  .peak_memory_source = "kernel",
                  .peak_memory_by_rank = {50, 30},
                  .energy_joules = 100,
                  .energy_source = "rapl",
                  .energy_seconds = 10,
                  .wasted = {.seconds = 3, .core_hours = 0.5, .gpu_hours = 0.25}};
  Books other = one;
  other.peak_memory_bytes = 60;
  other.peak_memory_source = "trainer";
  other.peak_memory_by_rank = {std::nullopt, 60};
  other.energy_source = "rapl+nvml";
  const auto all = sum_of(one, other);
  EXPECT_EQ(all.core_hours, 4);
  EXPECT_EQ(all.gpu_hours, 2);
  EXPECT_EQ(all.peak_memory_bytes, 60);
  EXPECT_EQ(all.peak_memory_source, "trainer");
  EXPECT_EQ(all.peak_memory_by_rank, (std::vector<std::optional<std::int64_t>>{50, 60}));
  EXPECT_EQ(all.energy_joules, 200);
  EXPECT_EQ(all.energy_source, "rapl+nvml");
  EXPECT_EQ(all.energy_seconds, 20);
  EXPECT_EQ(all.wasted.seconds, 6);
  EXPECT_EQ(all.wasted.core_hours, 1);
  EXPECT_EQ(all.wasted.gpu_hours, 0.5);
}

TEST(Books, OfAnUnknownSubmissionAreUnknownButForEnergyAndMemory) {
  const Books known{.core_hours = 2,
                    .gpu_hours = 0,
                    .peak_memory_bytes = 50,
                    .peak_memory_source = "kernel",
                    .energy_joules = 100,
                    .energy_source = "rapl",
                    .energy_seconds = 10,
                    .wasted = {.seconds = 0}};
  for (const auto& all : {sum_of(known, {}), sum_of({}, known)}) {
    EXPECT_FALSE(all.core_hours);
    EXPECT_FALSE(all.gpu_hours);
    EXPECT_FALSE(all.wasted.seconds);
    EXPECT_EQ(all.peak_memory_bytes, 50);
    EXPECT_EQ(all.energy_joules, 100);
    EXPECT_EQ(all.energy_seconds, 10) << "says how much is covered";
  }
  EXPECT_FALSE(sum_of({}, {}).energy_joules);
}

TEST(Books, SayOfHowManySubmissions) {
  const Json summary = {{"core_hours", 1.5}, {"gpu_hours", 0.0}, {"submissions", 3}};
  EXPECT_EQ(book_words(summary)[0].second, "1.5 in 3 submissions");
}

}  // namespace
}  // namespace dllaunch
