# CUDA is optional at build time. The .cu bodies in kernels/cuda/ are compiled when nvcc is found;
# the runtime is linked statically and finds the driver when it first runs, so one binary serves
# machines with and without a GPU.
#
# EDO_HAVE_CUDA says whether they are; edo_add_cuda(target) adds them.
set(EDO_HAVE_CUDA OFF)
if(EDO_CUDA STREQUAL "OFF")
  message(STATUS "CUDA: switched off (EDO_CUDA=OFF)")
elseif(EDO_SANITIZE OR EDO_FUZZERS)
  message(STATUS "CUDA: SKIPPED, nvcc takes no sanitizers; this build has the CPU backend only")
else()
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(EDO_NVCC nvcc HINTS /usr/local/cuda/bin)  # also where it is not on the path
    if(EDO_NVCC)
      set(CMAKE_CUDA_COMPILER ${EDO_NVCC})
    endif()
  endif()
  # Machine code for what nvcc knows of these, and PTX for what comes later. Set
  # CMAKE_CUDA_ARCHITECTURES to build for less.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND CMAKE_CUDA_COMPILER)
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE known
      ERROR_QUIET)
    set(architectures 80-real 86-real 89-real 90-real 90-virtual)
    foreach(newer IN ITEMS 100 120)
      if(known MATCHES "compute_${newer}\n")
        list(APPEND architectures ${newer}-real)
      endif()
    endforeach()
    if(known MATCHES "compute_120\n")
      list(APPEND architectures 120-virtual)
    endif()
    set(CMAKE_CUDA_ARCHITECTURES ${architectures} CACHE STRING "GPUs to build for")
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(EDO_HAVE_CUDA ON)
    message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_COMPILER_VERSION}, "
      "for ${CMAKE_CUDA_ARCHITECTURES}")
  elseif(EDO_CUDA STREQUAL "REQUIRED")
    message(WARNING "CUDA: SKIPPED, nvcc was not found; this build has the CPU backend only")
  else()
    message(STATUS "CUDA: nvcc not found; this build has the CPU backend only")
  endif()
endif()

if(EDO_HAVE_CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 12 has C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  find_package(CUDAToolkit REQUIRED)
  target_link_libraries(edo_dependencies INTERFACE $<LINK_ONLY:CUDA::cudart_static>)
endif()

# The CUDA backend, or what stands for it. The kernels are an object library, so that whoever links
# the library needs a C++ linker and the CUDA runtime, and not the language CUDA.
function(edo_add_cuda target)
  if(NOT EDO_HAVE_CUDA)
    target_sources(${target} PRIVATE kernels/cuda/no_cuda.cc)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS kernels/cuda/*.cu)
  add_library(${target}_cuda OBJECT ${sources})
  target_include_directories(${target}_cuda PRIVATE ${PROJECT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/include)
  # No fused multiply-add on either side; -Wpedantic does not agree with what nvcc generates.
  target_compile_options(${target}_cuda PRIVATE --fmad=false
    -Xcompiler=-Wall,-Wextra,-ffp-contract=off)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_cuda>)
endfunction()
