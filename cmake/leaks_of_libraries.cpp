// Linked into every program of the asan preset: suppresses leaks of third-party libraries that keep
// memory until exit. After dlclose() their frames have no names and would look like ours.
extern "C" {

const char* __lsan_default_suppressions();
const char* __lsan_default_suppressions() {
  return "leak:libmpi.so\n"
         "leak:libopen-rte.so\n"
         "leak:libopen-pal.so\n"
         "leak:libpmix.so\n"
         "leak:libhwloc.so\n"
         "leak:libOpenCL.so\n"
         "leak:vasprintf\n"  // its callers have no frame pointers that would identify them
         "leak:mca_\n"
         "leak:hwloc_\n";
}

int dlclose(void* library);
int dlclose(void*) {
  return 0;
}
}
