/* Sums the ranks over MPI, and says that dllaunch's variables and MPI agree.
 *   mpicc -O2 -o sum sum.c && dllaunch job.yaml */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0, sum = 0, length = 0;
  char host[MPI_MAX_PROCESSOR_NAME];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(host, &length);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const char* rank_text = getenv("RANK");
  const char* size_text = getenv("WORLD_SIZE");
  const int agree = rank_text && size_text && atoi(rank_text) == rank && atoi(size_text) == size;
  printf("rank %d of %d on %s: sum of ranks %d, RANK and WORLD_SIZE %s\n", rank, size, host, sum,
         agree ? "agree" : "DISAGREE");
  MPI_Finalize();
  return agree && sum == size * (size - 1) / 2 ? 0 : 1;
}
