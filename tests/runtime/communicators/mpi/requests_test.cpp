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

int own_rank() {
  int rank = 0;
  must(mpi().comm_rank(mpi().world, &rank), "MPI_Comm_rank");
  return rank;
}

void receive(Requests& requests, Pending pending, Letter& letter, int tag) {
  must(mpi().irecv(&letter.in, 1, own_rank(), tag, mpi().world, requests.add(pending)),
       "MPI_Irecv");
}

void wait(Requests& requests, Pending pending) {
  while (!requests.is_done(pending)) requests.wait_for_some();
}

void send(Letter& letter, int tag) {
  Requests requests;
  const Pending sent = requests.open();
  must(mpi().isend(&letter.out, 1, own_rank(), tag, mpi().world, requests.add(sent)), "MPI_Isend");
  wait(requests, sent);
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
    must(mpi().ibarrier(mpi().world, requests.add(operation)), "MPI_Ibarrier");
    wait(requests, operation);
    ASSERT_EQ(requests.live(), 0u);
    ASSERT_TRUE(requests.empty());
  }
}

TEST(RequestsDeathTest, AnMpiErrorIsFatal) {
  testing::GTEST_FLAG(death_test_style) = "fast";
  int ranks = 0;
  must(mpi().comm_size(mpi().world, &ranks), "MPI_Comm_size");
  Requests requests;
  const Letter letter;
  const auto send_to_no_rank = [&] {
    return mpi().isend(&letter.out, 1, ranks, 0, mpi().world, requests.add(requests.open()));
  };
  EXPECT_EXIT(must(send_to_no_rank(), "MPI_Isend"), testing::ExitedWithCode(fatal_exit_code),
              "MPI_Isend: .*[Ii]nvalid rank.*mpi/requests_test.cpp:");
}

}  // namespace
}  // namespace dllaunch
