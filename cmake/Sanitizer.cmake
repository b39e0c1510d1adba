# ISOCENTER_SANITIZER=address,undefined or thread instruments everything that this build compiles.
set(ISOCENTER_SANITIZER "" CACHE STRING "Sanitizers as g++'s -fsanitize takes them; empty: none")
if(ISOCENTER_SANITIZER)
  add_compile_options(-fsanitize=${ISOCENTER_SANITIZER} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ISOCENTER_SANITIZER})
endif()
