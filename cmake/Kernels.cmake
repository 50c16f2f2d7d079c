# kernels/cpu.c, compiled once for each instruction set, scalar and number of lanes. src/context.c chooses at run time.

function(softcon_kernel isa scalar lanes)
  set(name softcon_${isa}_${scalar}x${lanes})
  add_library(${name} OBJECT kernels/cpu.c)
  softcon_target(${name})
  target_compile_definitions(${name} PRIVATE SC_ISA=${isa} SC_LANES=${lanes} SC_SINGLE=$<STREQUAL:${scalar},f32>)
  target_compile_options(${name} PRIVATE ${SOFTCON_KERNEL_FLAGS} -ffp-contract=fast ${ARGN})
  target_sources(softcon PRIVATE $<TARGET_OBJECTS:${name}>)
  set_property(GLOBAL APPEND PROPERTY softcon_kernels ${name})
endfunction()

softcon_kernel(reference f32 1 -ffp-contract=off) # beside reference.c, which is double

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  target_compile_definitions(softcon PRIVATE SC_HAVE_X86=1)
  set(avx2 -mavx2 -mfma -mbmi -mbmi2 -mpopcnt -mlzcnt)
  set(avx512 -march=x86-64-v4 -mprefer-vector-width=512)
  set(avx512vl -march=x86-64-v4 -mprefer-vector-width=256) # for processors that slow down at 512 bits
  foreach(scalar f64 f32) # one lane, for systems that are packed alone; the tiles' loops are what is in vectors then
    softcon_kernel(sse2 ${scalar} 1)
    softcon_kernel(avx2 ${scalar} 1 ${avx2})
    softcon_kernel(avx512 ${scalar} 1 -march=x86-64-v4 -mprefer-vector-width=256)
  endforeach()
  softcon_kernel(sse2 f64 2)
  softcon_kernel(sse2 f32 4)
  softcon_kernel(avx2 f64 4 ${avx2})
  softcon_kernel(avx2 f32 8 ${avx2})
  softcon_kernel(avx512vl f64 4 ${avx512vl})
  softcon_kernel(avx512vl f32 8 ${avx512vl})
  softcon_kernel(avx512 f64 8 ${avx512})
  softcon_kernel(avx512 f32 16 ${avx512})
else()
  softcon_kernel(base f64 1)
  softcon_kernel(base f32 1)
  softcon_kernel(base f64 2)
  softcon_kernel(base f32 4)
endif()
