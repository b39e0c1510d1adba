// For functions that stand in for those of a shared library: what the library would have run.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace isocenter::sanitizer {

/// The function of this mangled name that the dynamic linker would have taken without ours.
inline void* NextFunction(const char* mangled) {
  void* const found = dlsym(RTLD_NEXT, mangled);
  if (found == nullptr) {
    std::fprintf(stderr, "tools/sanitizer: no %s; the library has another version\n", mangled);
    std::abort();
  }
  return found;
}

}  // namespace isocenter::sanitizer

/// That function as a pointer of this type, member functions with `this` first; looked up once.
#define ISO_NEXT_FUNCTION(type, mangled)                                    \
  reinterpret_cast<type>([] {                                               \
    static void* const found = isocenter::sanitizer::NextFunction(mangled); \
    return found;                                                           \
  }())
