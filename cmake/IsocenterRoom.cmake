# What nearly every file includes, parsed once. Only targets whose flags agree can use it: hence -pthread for all, which some
# libraries want and others do not care for.
set(ISOCENTER_PRELUDE
  <algorithm> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <optional> <span> <string> <utility> <vector>
  <absl/status/status.h> <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/synchronization/mutex.h> <absl/time/clock.h>)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-pthread>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # lets ccache see through the precompiled header
endif()
add_library(iso_prelude STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/prelude.cc)
target_compile_options(iso_prelude PRIVATE ${ISOCENTER_WARNINGS})
target_link_libraries(iso_prelude PRIVATE absl::status absl::statusor absl::strings absl::synchronization absl::time)
target_precompile_headers(iso_prelude PRIVATE ${ISOCENTER_PRELUDE})

# One room, one target. isocenter_room(NAME SOURCES ... DEPS ...) makes the static library iso_NAME with the repository root as
# include directory; a room without sources is an interface library. DEPS are public: they are the edges of docs/rooms.md.
function(isocenter_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPS" ${ARGN})
  if(ROOM_SOURCES)
    add_library(iso_${name} STATIC ${ROOM_SOURCES})
    target_include_directories(iso_${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(iso_${name} PUBLIC ${ROOM_DEPS})
    target_compile_options(iso_${name} PRIVATE ${ISOCENTER_WARNINGS})
    target_precompile_headers(iso_${name} REUSE_FROM iso_prelude)
  else()
    add_library(iso_${name} INTERFACE)
    target_include_directories(iso_${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(iso_${name} INTERFACE ${ROOM_DEPS})
  endif()
endfunction()

# How tests are compiled: what they do themselves is little beside what they call, and not worth -O3.
function(isocenter_compile_as_test name)
  target_compile_options(${name} PRIVATE ${ISOCENTER_WARNINGS} $<$<CONFIG:Release>:-O1>)
endfunction()

# isocenter_test(NAME SOURCES ... DEPS ... [LABELS ...]): one GoogleTest binary and one ctest entry.
function(isocenter_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_DEPS} GTest::gmock GTest::gtest_main)
  isocenter_compile_as_test(${name})
  target_precompile_headers(${name} REUSE_FROM iso_test_prelude)
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 900)
  endif()
  if(ISOCENTER_SANITIZED)  # several times slower
    math(EXPR TEST_TIMEOUT "4 * ${TEST_TIMEOUT}")
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS}")
endfunction()
