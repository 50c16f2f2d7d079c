# Helper functions of this project's CMakeLists.txt files.

set(host_language $<COMPILE_LANGUAGE:C,CXX>) # nvcc has options of its own
add_compile_options("$<${host_language}:-Wall;-Wextra;-Wshadow;-Wconversion>")
if(SOFTCON_WERROR)
  add_compile_options($<${host_language}:-Werror>)
endif()
if(SOFTCON_SANITIZE)
  add_compile_options(-fsanitize=${SOFTCON_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SOFTCON_SANITIZE})
  add_compile_definitions(SOFTCON_SANITIZED=1) # tests take smaller sizes
endif()

# Code that runs per environment. No flag here changes the value of a finite expression: contraction is decided per file.
# -Wno-psabi: vectors wider than the processor's are passed between inlined functions only.
set(SOFTCON_KERNEL_FLAGS $<IF:$<CONFIG:Debug>,-O1,-O3> -fno-math-errno -fno-trapping-math $<$<C_COMPILER_ID:GNU>:-Wno-psabi>)

# What every target of the project has in common.
function(softcon_target name)
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden)
endfunction()

# A library that is installed, with the headers of src/ as its public ones.
function(softcon_library name)
  add_library(${name} ${ARGN})
  add_library(softcon::${name} ALIAS ${name})
  softcon_target(${name})
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# Remember, and say at the end, what is not built and why.
function(softcon_left_out what why)
  set_property(GLOBAL APPEND PROPERTY softcon_left_out "${what} (${why})")
endfunction()

function(softcon_report)
  get_property(left_out GLOBAL PROPERTY softcon_left_out)
  foreach(line IN LISTS left_out)
    message(STATUS "softcon: left out: ${line}")
  endforeach()
  if(NOT left_out)
    message(STATUS "softcon: everything is built")
  endif()
endfunction()
