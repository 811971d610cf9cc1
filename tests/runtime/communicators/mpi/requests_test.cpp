#include "runtime/communicators/mpi/requests.hpp"

#include <gtest/gtest.h>

#include <array>

namespace dllaunch {
namespace {

/// A request that ends when the other end has sent (self to self).
struct Letter {
  char in = 0;
  char out = 'x';
};

void receive(Requests& requests, Pending pending, Letter& letter, int tag) {
  must(MPI_Irecv(&letter.in, 1, MPI_CHAR, 0, tag, MPI_COMM_SELF, requests.add(pending)),
       "MPI_Irecv");
}

void send(Letter& letter, int tag) {
  must(MPI_Send(&letter.out, 1, MPI_CHAR, 0, tag, MPI_COMM_SELF), "MPI_Send");
}

void wait(Requests& requests, Pending pending) {
  while (!requests.is_done(pending)) requests.wait_for_some();
}

TEST(Requests, MayBeEmpty) {
  Requests requests;
  EXPECT_TRUE(requests.empty());
  EXPECT_TRUE(requests.is_done(Pending{}));
  requests.progress();
  requests.wait_for_some();
}

TEST(Requests, AnOperationEndsWithItsLastRequest) {
  Requests requests;
  const Pending operation = requests.open();
  std::array<Letter, 3> letters;
  for (int tag = 0; tag < 3; ++tag) {
    receive(requests, operation, letters[static_cast<std::size_t>(tag)], tag);
  }
  for (const int tag : {2, 0}) {
    send(letters[static_cast<std::size_t>(tag)], tag);
    for (int i = 0; i < 10; ++i) requests.progress();
    EXPECT_FALSE(requests.is_done(operation));
  }
  send(letters[1], 1);
  wait(requests, operation);
  EXPECT_TRUE(requests.empty());
}

TEST(Requests, EndInAnyOrder) {
  Requests requests;
  std::array<Letter, 8> letters;
  std::array<Pending, 8> operations;
  for (int tag = 0; tag < 8; ++tag) {
    const auto i = static_cast<std::size_t>(tag);
    operations[i] = requests.open();
    receive(requests, operations[i], letters[i], tag);
  }
  for (const int tag : {5, 0, 7, 3, 1, 6, 2, 4}) {
    const auto i = static_cast<std::size_t>(tag);
    EXPECT_FALSE(requests.is_done(operations[i]));
    send(letters[i], tag);
    wait(requests, operations[i]);
    EXPECT_EQ(letters[i].in, 'x');
  }
  EXPECT_TRUE(requests.empty());
}

TEST(Requests, RunTheActionBeforeTheyAreDone) {
  Requests requests;
  const Pending operation = requests.open();
  Letter letter;
  char copy = 0;
  receive(requests, operation, letter, 0);
  requests.at_end(operation, [&] { copy = letter.in; });
  requests.progress();
  EXPECT_EQ(copy, 0);
  send(letter, 0);
  wait(requests, operation);
  EXPECT_EQ(copy, 'x');
}

TEST(Requests, ForgetFinishedOperations) {
  Requests requests;
  std::int64_t last = 0;
  for (int i = 0; i < 10000; ++i) {
    const Pending operation = requests.open();
    EXPECT_GT(operation.id, last);
    last = operation.id;
    must(MPI_Ibarrier(MPI_COMM_SELF, requests.add(operation)), "MPI_Ibarrier");
    wait(requests, operation);
    ASSERT_EQ(requests.live(), 0u);
    ASSERT_TRUE(requests.empty());
  }
}

TEST(RequestsDeathTest, AnMpiErrorIsFatal) {
  testing::GTEST_FLAG(death_test_style) = "fast";
  EXPECT_EXIT(must(MPI_ERR_TRUNCATE, "MPI_Testsome"), testing::ExitedWithCode(fatal_exit_code),
              "MPI_Testsome: MPI_ERR_TRUNCATE: message truncated .mpi/requests_test.cpp:");
}

}  // namespace
}  // namespace dllaunch
