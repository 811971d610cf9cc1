/* Says what a module says that was compiled for Open MPI 4 and finds the library of Open MPI 5. */
#include <stddef.h>

#include "runtime/communicators/mpi/module/mpi_table.h"

static const char* library(void) {
  return "Open MPI v5.0.11, package: of a test";
}

const MpiTable* dltrain_mpi_table(void);
const MpiTable* dltrain_mpi_table(void) {
#ifdef OLD
  static const MpiTable table = {.version = mpi_table_version - 1};
  (void)library;
#else
  static const MpiTable table = {
      .version = mpi_table_version, .fits = "Open MPI 4.1.4", .library = library};
#endif
  return &table;
}
