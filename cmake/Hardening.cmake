# What stands between a fault in what reads strangers' bytes and whoever would use it (docs/adr/0038): in everything that is compiled
# in C++, also in the precompiled headers, which fit no other flags. Not in nvcc's code, nor with sanitizers, which find more.
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)  # so that CMAKE_POSITION_INDEPENDENT_CODE is also told to the linker
if(NOT ISOCENTER_SANITIZER)
  set(hardening -fstack-protector-strong -fstack-clash-protection)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    list(APPEND hardening -fcf-protection)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    list(APPEND hardening -mbranch-protection=standard)
  endif()
  # Needs optimisation. Some compilers define it by themselves, at another level.
  list(APPEND hardening $<$<CONFIG:Release>:-U_FORTIFY_SOURCE> $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=3>)
  foreach(flag IN LISTS hardening)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:${flag}>)
  endforeach()
  add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()
