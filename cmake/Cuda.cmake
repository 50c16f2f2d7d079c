# The CUDA backend, where there is nvcc: kernels/cuda.cu and src/cuda_*.cu become part of softcon. CUDA's runtime is linked
# statically and looks for the driver when it is first called, so softcon loads where there is none.

set(SOFTCON_CUDA AUTO CACHE STRING "The CUDA backend: AUTO (when nvcc is found), ON or OFF")
set(SOFTCON_CUDA_ARCHITECTURES "80-real;90-real;100" CACHE STRING "What the CUDA kernels are compiled for; the last as PTX too, for what comes later")

if(NOT SOFTCON_CUDA)
  softcon_left_out("the CUDA backend" "SOFTCON_CUDA is OFF")
  return()
elseif(SOFTCON_SANITIZE)
  softcon_left_out("the CUDA backend" "a build with sanitizers")
  return()
endif()

find_program(SOFTCON_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
if(NOT SOFTCON_NVCC AND SOFTCON_CUDA STREQUAL "AUTO")
  softcon_left_out("the CUDA backend" "no nvcc: put it in PATH, or its toolkit in CUDA_PATH")
  return()
elseif(NOT SOFTCON_NVCC)
  message(FATAL_ERROR "SOFTCON_CUDA is ON, but there is no nvcc: put it in PATH, or its toolkit in CUDA_PATH")
endif()

set(CMAKE_CUDA_COMPILER ${SOFTCON_NVCC})
set(CMAKE_CUDA_ARCHITECTURES ${SOFTCON_CUDA_ARCHITECTURES})
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)

file(GLOB cuda_sources CONFIGURE_DEPENDS src/cuda_*.cu)
add_library(softcon_cuda OBJECT kernels/cuda.cu ${cuda_sources})
softcon_target(softcon_cuda)
set_target_properties(softcon_cuda PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF
                                              CUDA_VISIBILITY_PRESET hidden CUDA_RUNTIME_LIBRARY Static)
target_include_directories(softcon_cuda PRIVATE src kernels)
target_compile_options(softcon_cuda PRIVATE --threads=0 $<$<BOOL:${SOFTCON_WERROR}>:--Werror=all-warnings>)
target_sources(softcon PRIVATE $<TARGET_OBJECTS:softcon_cuda>)
# By path: an imported target would have to be found again by everyone who uses the installed package.
find_library(SOFTCON_CUDART cudart_static HINTS ${CUDAToolkit_LIBRARY_DIR} REQUIRED)
target_link_libraries(softcon PRIVATE ${SOFTCON_CUDART} ${CMAKE_DL_LIBS} rt)
set_target_properties(softcon PROPERTIES LINKER_LANGUAGE C CUDA_ARCHITECTURES OFF) # nothing of its own is CUDA
