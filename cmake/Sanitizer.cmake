# ISOCENTER_SANITIZER=address,undefined or thread instruments everything that this build compiles.
set(ISOCENTER_SANITIZER "" CACHE STRING "Sanitizers as g++'s -fsanitize takes them; empty: none")
option(ISOCENTER_FUZZ "Build the fuzz targets; needs clang" OFF)
set(ISOCENTER_SANITIZED 0)
if(ISOCENTER_SANITIZER)
  set(ISOCENTER_SANITIZED 1)
  add_compile_options(-fsanitize=${ISOCENTER_SANITIZER} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ISOCENTER_SANITIZER})
  if(ISOCENTER_FUZZ)  # libFuzzer is told what each input made run
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()

  # Linked into every program, because the runtime libraries and the dynamic linker look there first.
  set(here ${PROJECT_SOURCE_DIR}/tools/sanitizer)
  add_library(iso_sanitizer OBJECT ${here}/defaults.cc)
  target_include_directories(iso_sanitizer PRIVATE ${PROJECT_SOURCE_DIR})
  if(ISOCENTER_SANITIZER STREQUAL "thread")
    target_sources(iso_sanitizer PRIVATE ${here}/absl_mutex_tsan.cc ${here}/grpc_tsan.cc)
    # For the address of a private member of gRPC.
    set_source_files_properties(${here}/grpc_tsan.cc PROPERTIES COMPILE_OPTIONS -fno-access-control)
  endif()
  link_libraries($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:iso_sanitizer>)
endif()
