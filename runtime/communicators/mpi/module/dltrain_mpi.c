/* The MPI library as dltrain calls it: all that is compiled for one MPI.
 *
 *   mpicc -std=c99 -O2 -fPIC -shared -o libdltrain_mpi.so dltrain_mpi.c
 *
 * `dllaunch build-mpi-module` does that, on the machine that has the MPI. */
#include "mpi_table.h"

#include <mpi.h>

#define WORD(x) #x
#define TEXT(x) WORD(x)
#if defined(MPI_ABI_VERSION) /* of the standard's own header: any library that has its ABI */
#define FITS "MPI ABI " TEXT(MPI_ABI_VERSION) "." TEXT(MPI_ABI_SUBVERSION)
#elif defined(OMPI_MAJOR_VERSION)
#define FITS \
  "Open MPI " TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) "." TEXT(OMPI_RELEASE_VERSION)
#elif defined(MPICH_VERSION) /* also Cray's, Intel's and MVAPICH, which have its ABI */
#define FITS "MPICH " MPICH_VERSION
#else
#error "this MPI is none of those that dltrain knows: Open MPI, MPICH and its kin, the MPI ABI"
#endif

static const char* library(void) {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  return MPI_Get_library_version(text, &length) == MPI_SUCCESS ? text : "";
}

static const char* error(int code) {
  static char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  return MPI_Error_string(code, text, &length) == MPI_SUCCESS ? text : "";
}

static int init(int* enough) {
  int provided = MPI_THREAD_SINGLE;
  const int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
  *enough = provided >= MPI_THREAD_SERIALIZED;
  return code;
}

static int comm_rank(MpiHandle comm, int* rank) {
  return MPI_Comm_rank((MPI_Comm)comm, rank);
}

static int comm_size(MpiHandle comm, int* size) {
  return MPI_Comm_size((MPI_Comm)comm, size);
}

static int comm_dup(MpiHandle comm, MpiHandle* made) {
  MPI_Comm own = MPI_COMM_NULL;
  const int code = MPI_Comm_dup((MPI_Comm)comm, &own);
  *made = (MpiHandle)own;
  return code;
}

static int comm_split(MpiHandle comm, int colour, int key, MpiHandle* made) {
  MPI_Comm own = MPI_COMM_NULL;
  const int code = MPI_Comm_split((MPI_Comm)comm, colour, key, &own);
  *made = (MpiHandle)own;
  return code;
}

static int comm_split_by_memory(MpiHandle comm, int key, MpiHandle* made) {
  MPI_Comm own = MPI_COMM_NULL;
  const int code =
      MPI_Comm_split_type((MPI_Comm)comm, MPI_COMM_TYPE_SHARED, key, MPI_INFO_NULL, &own);
  *made = (MpiHandle)own;
  return code;
}

static int comm_free(MpiHandle comm) {
  MPI_Comm own = (MPI_Comm)comm;
  return MPI_Comm_free(&own);
}

static int return_errors(MpiHandle comm) {
  return MPI_Comm_set_errhandler((MPI_Comm)comm, MPI_ERRORS_RETURN);
}

static int op_create(MpiCombine* combine, MpiHandle* made) {
  MPI_Op own = MPI_OP_NULL;
  /* Pointers to all objects are passed alike. */
  const int code = MPI_Op_create((MPI_User_function*)combine, 1, &own);
  *made = (MpiHandle)own;
  return code;
}

static int op_free(MpiHandle op) {
  MPI_Op own = (MPI_Op)op;
  return MPI_Op_free(&own);
}

static int isend(const void* data, int bytes, int to, int tag, MpiHandle comm, void* request) {
  return MPI_Isend(data, bytes, MPI_BYTE, to, tag, (MPI_Comm)comm, request);
}

static int irecv(void* data, int bytes, int from, int tag, MpiHandle comm, void* request) {
  return MPI_Irecv(data, bytes, MPI_BYTE, from, tag, (MPI_Comm)comm, request);
}

static int probe_any(MpiHandle comm) {
  int flag = 0;
  return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, (MPI_Comm)comm, &flag, MPI_STATUS_IGNORE);
}

static int iallreduce(void* data, int count, MpiReduction how, MpiHandle comm, void* request) {
  return MPI_Iallreduce(MPI_IN_PLACE, data, count, (MPI_Datatype)how.type, (MPI_Op)how.op,
                        (MPI_Comm)comm, request);
}

static int ireduce(void* data, int count, MpiReduction how, int root, MpiHandle comm,
                   void* request) {
  int rank = 0;
  const int code = comm_rank(comm, &rank);
  if (code != MPI_SUCCESS) return code;
  return MPI_Ireduce(rank == root ? MPI_IN_PLACE : data, rank == root ? data : NULL, count,
                     (MPI_Datatype)how.type, (MPI_Op)how.op, root, (MPI_Comm)comm, request);
}

static int ireduce_scatter(void* data, int count, MpiReduction how, MpiHandle comm, void* request) {
  return MPI_Ireduce_scatter_block(MPI_IN_PLACE, data, count, (MPI_Datatype)how.type,
                                   (MPI_Op)how.op, (MPI_Comm)comm, request);
}

static int iallgather(void* data, int count, MpiHandle type, MpiHandle comm, void* request) {
  return MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, count, (MPI_Datatype)type,
                        (MPI_Comm)comm, request);
}

static int ibcast(void* data, int count, MpiHandle type, int root, MpiHandle comm, void* request) {
  return MPI_Ibcast(data, count, (MPI_Datatype)type, root, (MPI_Comm)comm, request);
}

static int ibarrier(MpiHandle comm, void* request) {
  return MPI_Ibarrier((MPI_Comm)comm, request);
}

static int allreduce(void* data, int count, MpiReduction how, MpiHandle comm) {
  return MPI_Allreduce(MPI_IN_PLACE, data, count, (MPI_Datatype)how.type, (MPI_Op)how.op,
                       (MPI_Comm)comm);
}

static int allgather(const void* mine, int count, MpiHandle type, void* all, MpiHandle comm) {
  return MPI_Allgather(mine, count, (MPI_Datatype)type, all, count, (MPI_Datatype)type,
                       (MPI_Comm)comm);
}

static int first_error(int code, int ended, const MPI_Status* statuses) {
  if (code != MPI_ERR_IN_STATUS) return code;
  for (int i = 0; i < ended; ++i) {
    if (statuses[i].MPI_ERROR != MPI_SUCCESS) return statuses[i].MPI_ERROR;
  }
  return code;
}

static int test_some(int count, void* requests, int* ended, int* indices, void* statuses) {
  const int code = MPI_Testsome(count, requests, ended, indices, statuses);
  return first_error(code, *ended, statuses);
}

static int wait_some(int count, void* requests, int* ended, int* indices, void* statuses) {
  const int code = MPI_Waitsome(count, requests, ended, indices, statuses);
  return first_error(code, *ended, statuses);
}

const MpiTable* dltrain_mpi_table(void);
const MpiTable* dltrain_mpi_table(void) {
  static MpiTable table;
  /* Not static: handles of predefined objects may be known only at run time. */
  table = (MpiTable){
      .version = mpi_table_version,
      .fits = FITS,
      .library = library,
      .error = error,
      .request_bytes = sizeof(MPI_Request),
      .status_bytes = sizeof(MPI_Status),
      .world = (MpiHandle)MPI_COMM_WORLD,
      .f32 = (MpiHandle)MPI_FLOAT,
      .f64 = (MpiHandle)MPI_DOUBLE,
      .u16 = (MpiHandle)MPI_UINT16_T,
      .i64 = (MpiHandle)MPI_INT64_T,
      .u8 = (MpiHandle)MPI_UINT8_T,
      .i32 = (MpiHandle)MPI_INT32_T,
      .sum = (MpiHandle)MPI_SUM,
      .min = (MpiHandle)MPI_MIN,
      .max = (MpiHandle)MPI_MAX,
      .finalized = MPI_Finalized,
      .initialized = MPI_Initialized,
      .init = init,
      .finalize = MPI_Finalize,
      .comm_rank = comm_rank,
      .comm_size = comm_size,
      .comm_dup = comm_dup,
      .comm_split = comm_split,
      .comm_split_by_memory = comm_split_by_memory,
      .comm_free = comm_free,
      .return_errors = return_errors,
      .op_create = op_create,
      .op_free = op_free,
      .isend = isend,
      .irecv = irecv,
      .probe_any = probe_any,
      .iallreduce = iallreduce,
      .ireduce = ireduce,
      .ireduce_scatter = ireduce_scatter,
      .iallgather = iallgather,
      .ibcast = ibcast,
      .ibarrier = ibarrier,
      .allreduce = allreduce,
      .allgather = allgather,
      .test_some = test_some,
      .wait_some = wait_some,
  };
  return &table;
}
