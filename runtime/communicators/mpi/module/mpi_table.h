/* What dltrain uses of an MPI library, without the types of any. C99, for the module and dltrain.
 * dltrain_mpi_table() of the module returns an MpiTable; every change of it gets a new version. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { mpi_table_version = 1 };

/* A communicator, type or operation: a pointer in some libraries, an int in others. 0: none. */
typedef uintptr_t MpiHandle;

typedef struct MpiReduction {
  MpiHandle type;
  MpiHandle op;
} MpiReduction;

/* `in_out` becomes the reduction of both. `type` is MPI's, and of no use here. */
typedef void MpiCombine(void* in, void* in_out, int* count, void* type);

/* Functions return MPI's error code, 0 for success, unless they return text. A `request` is a place
 * of request_bytes. Collectives of data work in place. */
typedef struct MpiTable {
  int version; /* mpi_table_version; the first member in every version */

  const char* fits;             /* the MPI that the module was compiled with: "Open MPI 4.1.4" */
  const char* (*library)(void); /* MPI's text about itself, also before init() */
  const char* (*error)(int code);
  size_t request_bytes;
  size_t status_bytes;

  MpiHandle world;
  MpiHandle f32, f64, u16, i64, u8, i32;
  MpiHandle sum, min, max;

  int (*finalized)(int* flag);
  int (*initialized)(int* flag);
  /* Calls may come from one thread at a time: `enough` is 0 if the library cannot have that. */
  int (*init)(int* enough);
  int (*finalize)(void);

  int (*comm_rank)(MpiHandle comm, int* rank);
  int (*comm_size)(MpiHandle comm, int* size);
  int (*comm_dup)(MpiHandle comm, MpiHandle* made);
  int (*comm_split)(MpiHandle comm, int colour, int key, MpiHandle* made);
  int (*comm_split_by_memory)(MpiHandle comm, int key, MpiHandle* made);
  int (*comm_free)(MpiHandle comm);
  int (*return_errors)(MpiHandle comm);

  int (*op_create)(MpiCombine* combine, MpiHandle* made); /* commutative */
  int (*op_free)(MpiHandle op);

  int (*isend)(const void* data, int bytes, int to, int tag, MpiHandle comm, void* request);
  int (*irecv)(void* data, int bytes, int from, int tag, MpiHandle comm, void* request);
  int (*probe_any)(MpiHandle comm);

  int (*iallreduce)(void* data, int count, MpiReduction how, MpiHandle comm, void* request);
  /* Only `root` is changed. */
  int (*ireduce)(void* data, int count, MpiReduction how, int root, MpiHandle comm, void* request);
  /* `count`: of each rank's block. The result is in the first block. */
  int (*ireduce_scatter)(void* data, int count, MpiReduction how, MpiHandle comm, void* request);
  int (*iallgather)(void* data, int count, MpiHandle type, MpiHandle comm, void* request);
  int (*ibcast)(void* data, int count, MpiHandle type, int root, MpiHandle comm, void* request);
  int (*ibarrier)(MpiHandle comm, void* request);
  int (*allreduce)(void* data, int count, MpiReduction how, MpiHandle comm);
  int (*allgather)(const void* mine, int count, MpiHandle type, void* all, MpiHandle comm);

  /* `ended` is negative if no request was active. `statuses`: memory for `count` of them. The code
   * is that of the first request that failed. */
  int (*test_some)(int count, void* requests, int* ended, int* indices, void* statuses);
  int (*wait_some)(int count, void* requests, int* ended, int* indices, void* statuses);
} MpiTable;
