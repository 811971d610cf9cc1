#include "support/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace dllaunch {
namespace {

constexpr std::size_t some_bytes = 10'000;

TEST(SharedMemory, IsZeroedAndCommonToAllThatOpenIt) {
  auto own = make_shared_memory(some_bytes);
  ASSERT_TRUE(own);
  auto mapped = MappedMemory::map(*own, some_bytes);
  ASSERT_TRUE(mapped);
  EXPECT_TRUE(std::ranges::all_of(mapped->bytes(), [](std::byte b) { return b == std::byte{0}; }));

  const MemoryOffer offer = offer_of(*own);
  const pid_t child = fork();
  if (child == 0) {
    auto theirs = open_shared_memory(offer);
    auto seen =
        theirs ? MappedMemory::map(*theirs, some_bytes) : Result<MappedMemory>(theirs.error());
    if (seen) seen->bytes()[some_bytes - 1] = std::byte{42};
    ::_exit(seen ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(mapped->bytes()[some_bytes - 1], std::byte{42});
}

TEST(SharedMemory, StaysMappedWithoutItsDescriptor) {
  MappedMemory mapped;
  {
    auto own = make_shared_memory(some_bytes);
    ASSERT_TRUE(own);
    mapped = *MappedMemory::map(*own, some_bytes);
  }
  mapped.bytes()[7] = std::byte{1};
  EXPECT_EQ(mapped.bytes()[7], std::byte{1});
}

TEST(SharedMemory, RefusesMemoryThatIsGoneOrAnothers) {
  auto own = make_shared_memory(some_bytes);
  ASSERT_TRUE(own);
  MemoryOffer offer = offer_of(*own);
  offer.inode += 1;
  EXPECT_NE(open_shared_memory(offer).error().what.find("belongs to another process"),
            std::string::npos);
  offer.pid = 999'999'999;
  EXPECT_EQ(open_shared_memory(offer).error().kind, ErrorKind::unavailable);
}

}  // namespace
}  // namespace dllaunch
