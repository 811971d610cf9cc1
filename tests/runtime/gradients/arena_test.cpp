#include "runtime/gradients/arena.hpp"

#include <gtest/gtest.h>

#include <random>

namespace dllaunch {
namespace {

constexpr DType every_type[] = {DType::f32, DType::f64, DType::i64, DType::u8};

std::vector<std::size_t> random_elements(std::mt19937& random) {
  std::vector<std::size_t> elements(random() % 60);
  for (std::size_t& count : elements) count = random() % 4 == 0 ? random() % 5000 : random() % 40;
  return elements;
}

TEST(Arena, SlotsAreAlignedInOrderAndApart) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto elements = random_elements(random);
    for (const DType type : every_type) {
      const ArenaLayout layout = lay_out(type, elements);
      ASSERT_EQ(layout.elements, elements);
      std::size_t end = 0;
      for (std::size_t slot = 0; slot < elements.size(); ++slot) {
        const std::size_t gap = layout.offset[slot] - end;
        ASSERT_GE(layout.offset[slot], end);
        ASSERT_LT(gap * bytes_of(type), 64u);
        ASSERT_EQ(layout.offset[slot] * bytes_of(type) % 64, 0u);
        end = layout.offset[slot] + elements[slot];
      }
      ASSERT_GE(layout.total, end);
      ASSERT_EQ(layout.bytes() % 64, 0u);
      ASSERT_LT((layout.total - end) * bytes_of(type), 64u);
    }
  }
}

TEST(Arena, AtIsWhereTheSlotLies) {
  const ArenaLayout layout = lay_out(DType::f64, std::vector<std::size_t>{3, 9, 1});
  EXPECT_EQ(layout.offset, (std::vector<std::size_t>{0, 8, 24}));
  EXPECT_EQ(layout.bytes(), 256u);
  std::vector<std::byte> memory(layout.bytes());
  EXPECT_EQ(layout.at(memory, 0), memory.data());
  EXPECT_EQ(layout.at(memory, 1), memory.data() + 64);
  EXPECT_EQ(layout.at(memory, 2), memory.data() + 192);
}

TEST(Arena, MayBeEmpty) {
  const ArenaLayout layout = lay_out(DType::f32, {});
  EXPECT_EQ(layout.bytes(), 0u);
  EXPECT_TRUE(plan_buckets(layout, 100, 100).empty());
}

/// Checks the promises of plan_buckets for one layout.
void check_buckets(const ArenaLayout& layout, std::size_t bucket_bytes, std::size_t first_bytes) {
  const auto buckets = plan_buckets(layout, bucket_bytes, first_bytes);
  int next_slot = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const Bucket& bucket = buckets[i];
    ASSERT_EQ(bucket.first_slot, next_slot) << "every slot is in one bucket";
    ASSERT_GE(bucket.last_slot, bucket.first_slot);
    next_slot = bucket.last_slot + 1;

    const auto first = static_cast<std::size_t>(bucket.first_slot);
    const auto last = static_cast<std::size_t>(bucket.last_slot);
    ASSERT_EQ(bucket.offset, layout.offset[first]);
    ASSERT_EQ(bucket.offset + bucket.elements, layout.offset[last] + layout.elements[last]);

    const std::size_t enough = i == 0 ? first_bytes : bucket_bytes;
    const std::size_t size = bytes_of(layout.type);
    const bool is_last = i + 1 == buckets.size();
    ASSERT_TRUE(is_last || bucket.elements * size >= enough);
    if (first == last) continue;
    const std::size_t without_last = layout.offset[last - 1] + layout.elements[last - 1];
    ASSERT_LT((without_last - bucket.offset) * size, enough) << "closes as soon as it is full";
  }
  ASSERT_EQ(next_slot, static_cast<int>(layout.offset.size()));
}

TEST(Buckets, HoldEverySlotOnceAndCloseWhenFull) {
  std::mt19937 random(2);
  for (int round = 0; round < 500; ++round) {
    const auto elements = random_elements(random);
    for (const DType type : every_type) {
      check_buckets(lay_out(type, elements), random() % 20000, random() % 3000);
    }
  }
}

TEST(Buckets, TheFirstClosesEarly) {
  const ArenaLayout layout = lay_out(DType::f32, std::vector<std::size_t>(6, 256));  // 1 KiB each
  const auto buckets = plan_buckets(layout, 2048, 1024);
  ASSERT_EQ(buckets.size(), 4u);
  EXPECT_EQ(buckets[0].last_slot, 0);
  EXPECT_EQ(buckets[1].last_slot, 2);
  EXPECT_EQ(buckets[2].last_slot, 4);
  EXPECT_EQ(buckets[3].elements, 256u) << "what is left is a bucket too";
}

TEST(Buckets, OfNoSizeHoldOneSlotEach) {
  const ArenaLayout layout = lay_out(DType::u8, std::vector<std::size_t>{1, 0, 5});
  EXPECT_EQ(plan_buckets(layout, 0, 0).size(), 3u);
}

/// With a unit: buckets cover the arena from end to end, and divide into equal parts for all ranks.
void check_parts(const ArenaLayout& layout, const std::vector<Bucket>& buckets, int parts) {
  std::size_t next = 0;
  for (const Bucket& bucket : buckets) {
    ASSERT_EQ(bucket.offset, next) << "no gap, no overlap";
    next += bucket.elements;
    for (int part = 0; part < parts; ++part) {
      const ArenaRange range = part_of(bucket, part, parts);
      ASSERT_EQ(range.offset, bucket.offset + static_cast<std::size_t>(part) * range.elements);
      ASSERT_EQ(range.elements * static_cast<std::size_t>(parts), bucket.elements);
      ASSERT_EQ(range.offset % 64, 0u);
    }
    // All slots it overlaps are its own: it may start when they are ready.
    for (std::size_t slot = 0; slot < layout.offset.size(); ++slot) {
      const std::size_t end = layout.offset[slot] + layout.elements[slot];
      const bool touched = layout.elements[slot] > 0 && layout.offset[slot] < next &&
                           end > bucket.offset && bucket.elements > 0;
      const bool named =
          static_cast<int>(slot) >= bucket.first_slot && static_cast<int>(slot) <= bucket.last_slot;
      ASSERT_TRUE(!touched || named) << "slot " << slot;
    }
  }
  ASSERT_EQ(next, layout.total);
}

TEST(Buckets, CanBeDealtOutInEqualParts) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    const auto elements = random_elements(random);
    if (elements.empty()) continue;
    const int parts = 1 + static_cast<int>(random() % 9);
    for (const DType type : {DType::f32, DType::f64}) {
      const ArenaLayout layout = lay_out(type, elements, unit_for(parts));
      const auto buckets = plan_buckets(layout, random() % 20000, random() % 3000, unit_for(parts));
      ASSERT_EQ(buckets.back().last_slot + 1, static_cast<int>(elements.size()));
      check_parts(layout, buckets, parts);
    }
  }
}

/// The same as check_parts() for buckets with holes between them; also, every element of a wanted
/// slot is in exactly one bucket.
void check_cut(const ArenaLayout& layout, const std::vector<Bucket>& buckets,
               const std::vector<bool>& wanted, std::size_t unit) {
  std::vector<int> covered(layout.total);
  std::size_t behind = 0;
  for (const Bucket& bucket : buckets) {
    ASSERT_GE(bucket.offset, behind);
    ASSERT_GT(bucket.elements, 0u);
    behind = bucket.offset + bucket.elements;
    ASSERT_LE(behind, layout.total);
    ASSERT_TRUE(unit == 1 || (bucket.offset % unit == 0 && bucket.elements % unit == 0));
    for (std::size_t i = bucket.offset; i < behind; ++i) ++covered[i];
    bool any = false;
    for (int slot = 0; slot < std::ssize(wanted); ++slot) {
      const auto s = static_cast<std::size_t>(slot);
      const std::size_t end = layout.offset[s] + layout.elements[s];
      const bool touched =
          layout.elements[s] > 0 && layout.offset[s] < behind && end > bucket.offset;
      const bool named = slot >= bucket.first_slot && slot <= bucket.last_slot;
      ASSERT_TRUE(!touched || named) << "slot " << slot;
      any = any || (named && wanted[s]);
    }
    ASSERT_TRUE(any) << "a bucket that is not needed";
  }
  for (std::size_t slot = 0; slot < wanted.size(); ++slot) {
    for (std::size_t i = 0; wanted[slot] && i < layout.elements[slot]; ++i) {
      ASSERT_EQ(covered[layout.offset[slot] + i], 1) << "slot " << slot;
    }
  }
}

TEST(Buckets, AreCutToTheSlotsThatAreWanted) {
  std::mt19937 random(4);
  for (int round = 0; round < 500; ++round) {
    const auto elements = random_elements(random);
    const int parts = 1 + static_cast<int>(random() % 5);
    const std::size_t unit = round % 2 == 0 ? 1 : unit_for(parts);
    const ArenaLayout layout = lay_out(DType::f32, elements, unit);
    const auto buckets = plan_buckets(layout, random() % 20000, random() % 3000, unit);
    std::vector<bool> wanted(elements.size(), true);
    const auto nothing_cut = buckets_for(layout, buckets, wanted, unit);
    ASSERT_LE(nothing_cut.size(), buckets.size());
    check_cut(layout, nothing_cut, wanted, unit);
    for (std::size_t slot = 0; slot < wanted.size(); ++slot) wanted[slot] = random() % 3 == 0;
    check_cut(layout, buckets_for(layout, buckets, wanted, unit), wanted, unit);
    EXPECT_TRUE(buckets_for(layout, buckets, std::vector<bool>(elements.size()), unit).empty());
  }
}

TEST(Buckets, EndWithTheLastSlotThatIsWanted) {
  const ArenaLayout layout = lay_out(DType::f32, std::vector<std::size_t>{32, 16, 48, 16});
  const auto whole = plan_buckets(layout, 1e6, 1e6);
  const auto cut = buckets_for(layout, whole, {false, true, true, false});
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_EQ(cut[0], (Bucket{.first_slot = 1, .last_slot = 2, .offset = 32, .elements = 64}));
}

TEST(Buckets, MayHaveFewerElementsThanParts) {
  const ArenaLayout layout = lay_out(DType::f32, std::vector<std::size_t>{3}, unit_for(7));
  const auto buckets = plan_buckets(layout, 1, 1, unit_for(7));
  ASSERT_EQ(buckets.size(), 1u);
  check_parts(layout, buckets, 7);
}

}  // namespace
}  // namespace dllaunch
