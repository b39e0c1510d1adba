# Decides whether kernels/cuda is compiled: sets ISOCENTER_HAS_CUDA, and enables the language CUDA where it is.
set(ISOCENTER_CUDA AUTO CACHE STRING "CUDA backend: AUTO (where nvcc is found), ON or OFF")
set_property(CACHE ISOCENTER_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT ISOCENTER_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "ISOCENTER_CUDA is \"${ISOCENTER_CUDA}\"; legal: AUTO, ON, OFF")
endif()

set(ISOCENTER_HAS_CUDA OFF)
if(NOT ISOCENTER_CUDA STREQUAL "OFF")
  # The toolkit's own packages leave nvcc outside of PATH.
  find_program(ISOCENTER_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin PATHS /usr/local/cuda/bin)
  if(ISOCENTER_NVCC)
    set(CMAKE_CUDA_COMPILER ${ISOCENTER_NVCC})
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      # All that the package serves; tools/dev/build.sh names the same. Machine code for data-centre Ampere and Hopper; PTX
      # of the newest for everything later.
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 120)
    endif()
    enable_language(CUDA)
    # CMake 3.25 does not know how nvcc spells C++20.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(ISOCENTER_HAS_CUDA ON)
  elseif(ISOCENTER_CUDA STREQUAL "ON")
    message(FATAL_ERROR "ISOCENTER_CUDA=ON, but nvcc was not found in PATH, CUDA_HOME/bin or /usr/local/cuda/bin")
  endif()
endif()
message(STATUS "CUDA backend: ${ISOCENTER_HAS_CUDA} (ISOCENTER_CUDA=${ISOCENTER_CUDA})")
