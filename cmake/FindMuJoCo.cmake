# MuJoCo_LIBRARY and MuJoCo_INCLUDE_DIR from MUJOCO_DIR: a release's folder (include/, lib/) or the folder `mujoco` of the
# Python wheel, where the versioned library lies beside include/. Without MUJOCO_DIR, the wheel in .venv, where scripts/setup
# puts it.

set(MUJOCO_DIR "" CACHE PATH "Folder with MuJoCo's include/ and library")
set(dirs ${MUJOCO_DIR})
if(NOT dirs)
  file(GLOB dirs ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/mujoco)
endif()

unset(MuJoCo_LIBRARY)
foreach(dir IN LISTS dirs)
  file(GLOB found ${dir}/lib/libmujoco.so* ${dir}/lib/libmujoco*.dylib ${dir}/libmujoco.so* ${dir}/libmujoco*.dylib)
  if(found AND EXISTS ${dir}/include/mujoco/mujoco.h)
    list(GET found 0 MuJoCo_LIBRARY)
    set(MuJoCo_INCLUDE_DIR ${dir}/include)
    file(STRINGS ${dir}/include/mujoco/mujoco.h MuJoCo_VERSION REGEX "define mjVERSION_HEADER")
    string(REGEX REPLACE "[^0-9]" "" MuJoCo_VERSION "${MuJoCo_VERSION}")
    break()
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MuJoCo REQUIRED_VARS MuJoCo_LIBRARY MuJoCo_INCLUDE_DIR)
if(MuJoCo_FOUND)
  message(STATUS "softcon: MuJoCo ${MuJoCo_VERSION}: ${MuJoCo_LIBRARY}")
endif()
