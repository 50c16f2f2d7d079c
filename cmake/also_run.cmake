# Read by ctest: the tests of a second build, named in SOFTCON_ALSO_RUN, join this one's under one summary.
if(DEFINED ENV{SOFTCON_ALSO_RUN} AND EXISTS "$ENV{SOFTCON_ALSO_RUN}/CTestTestfile.cmake")
  subdirs("$ENV{SOFTCON_ALSO_RUN}")
endif()
