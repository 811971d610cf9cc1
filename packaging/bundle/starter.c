// bin/dllaunch and bin/dltrain of a bundle: starts NAME.real with the C library of this machine, or
// if that is older, with the one in the bundle. Linked statically, so it runs everywhere
// (docs/decisions/0024).
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define LOADER "ld-linux-x86-64.so.2"
#define LOADER_OF_MACHINE "/lib64/" LOADER
#elif defined(__aarch64__)
#define LOADER "ld-linux-aarch64.so.1"
#define LOADER_OF_MACHINE "/lib/" LOADER
#endif

/// Returns N of glibc 2.N on this machine; 0 if that is unknown, as before 2.33. The loader's file
/// has the text that its --version prints: to start it would cost a process.
static int minor_version_here(void) {
  static const char words[] = " release version 2.";
  struct stat state;
  int version = 0;
  const int fd = open(LOADER_OF_MACHINE, O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && fstat(fd, &state) == 0 && state.st_size > 0) {
    const size_t size = (size_t)state.st_size;
    const char* text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (text != MAP_FAILED) {
      const char* found = memmem(text, size, words, sizeof(words) - 1);
      const char* end = text + size;
      if (found != NULL)
        for (const char* at = found + sizeof(words) - 1; at < end && *at >= '0' && *at <= '9'; ++at)
          version = 10 * version + (*at - '0');
    }
  }
  if (fd >= 0) close(fd);
  return version;
}

/// Returns text as printf() formats it.
__attribute__((format(printf, 1, 2))) static char* text_of(const char* format, ...) {
  va_list values;
  va_start(values, format);
  char* text = NULL;
  const int length = vasprintf(&text, format, values);
  va_end(values);
  if (length < 0) abort();
  return text;
}

/// Replaces this program; returns only if that fails.
static void start_with_own_library(const char* prefix, const char* real, int argc, char** argv) {
  if (strpbrk(prefix, ":;") != NULL) {
    fprintf(stderr, "dllaunch: %s: the path of a bundle may not have ':' or ';'\n", prefix);
    exit(3);
  }
  const char* user = getenv("LD_LIBRARY_PATH");
  const int has_user = user != NULL && *user != '\0';
  char* folder = text_of("%s/lib/dllaunch/glibc", prefix);
  char* loader = text_of("%s/" LOADER, folder);
  // --library-path takes the place of LD_LIBRARY_PATH, in which a module may find its MPI.
  char* path = text_of("%s%s%s", folder, has_user ? ":" : "", has_user ? user : "");
  // The loader's own name is its path, by which the program finds it among what is loaded.
  char* head[] = {loader, "--library-path", path, "--argv0", argv[0], (char*)real};
  const size_t words = sizeof(head) / sizeof(head[0]);
  char** all = calloc(words + (size_t)argc, sizeof(char*));
  if (all == NULL) abort();
  memcpy(all, head, sizeof(head));
  memcpy(all + words, argv + 1, (size_t)argc * sizeof(char*));  // with the null at the end
  execv(loader, all);
}

int main(int argc, char** argv) {
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
  if (length < 0) {
    fprintf(stderr, "dllaunch: cannot read /proc/self/exe: %s\n", strerror(errno));
    return 3;
  }
  self[length] = '\0';
  char* slash = strrchr(self, '/');
  const char* name = slash + 1;
  *slash = '\0';
  // Beside this program; or where a wheel, which has no links, puts a copy of it into bin/.
  char* prefix = text_of("%s/../..", self);
  char* real = text_of("%s/%s.real", self, name);
  if (access(real, F_OK) != 0) {
    prefix = text_of("%s/..", self);
    real = text_of("%s/libexec/dllaunch/%s.real", prefix, name);
  }
  // Modules are linked with the libraries of this machine, which may need its C library.
  if (minor_version_here() >= __GLIBC_MINOR__)
    execv(real, argv);
  else
    start_with_own_library(prefix, real, argc, argv);
  fprintf(stderr, "dllaunch: cannot start %s: %s\n", real, strerror(errno));
  return 3;
}
