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

// libasan of GCC 12 guesses where a library's thread-local memory lies from what is in front of it,
// and at some addresses it guesses wrong: LeakSanitizer then reads an invalid address at exit.
const char* __asan_default_options();
const char* __asan_default_options() {
  return "intercept_tls_get_addr=0";
}

int dlclose(void* library);
int dlclose(void*) {
  return 0;
}
}
