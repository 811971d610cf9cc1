// Linked into every program of the asan preset: what other people's libraries keep until the end is
// not our leak. Without names of their own after dlclose() they could not be told from ours.
extern "C" {

const char* __lsan_default_suppressions();
const char* __lsan_default_suppressions() {
  return "leak:libmpi.so\n"
         "leak:libopen-rte.so\n"
         "leak:libopen-pal.so\n"
         "leak:libpmix.so\n"
         "leak:libhwloc.so\n"
         "leak:libOpenCL.so\n"
         "leak:vasprintf\n"  // its callers keep no frame pointer that would name them
         "leak:mca_\n"
         "leak:hwloc_\n";
}

int dlclose(void* library);
int dlclose(void*) {
  return 0;
}
}
