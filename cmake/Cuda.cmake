# The GPU. What is decided here:
#   SADAM_HAVE_NVCC   the kernels can be compiled; so they are, for their tests if nothing else
#   SADAM_HAVE_CUDA   libtorch has CUDA too, so that the library uses them
#   SADAM_NO_GPU_BECAUSE   why it does not
# Included before libtorch is looked for, because a libtorch with CUDA sets the language up to its own taste;
# sadam_settle_cuda() follows it.
set(SADAM_CUDA AUTO CACHE STRING "Use the GPU: AUTO (where nvcc and a libtorch with CUDA are found), ON or OFF")
set_property(CACHE SADAM_CUDA PROPERTY STRINGS AUTO ON OFF)
set(SADAM_HAVE_NVCC OFF)
set(SADAM_HAVE_CUDA OFF)

if(SADAM_CUDA)
  # CUDA installs itself without telling the PATH.
  if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(SADAM_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
    mark_as_advanced(SADAM_NVCC)
    if(SADAM_NVCC)
      set(ENV{CUDACXX} ${SADAM_NVCC})
    endif()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # For the GPU of this machine; where there is none, for the one that the budgets are measured on.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
      set(sadam_architecture 90)
      find_program(SADAM_NVIDIA_SMI nvidia-smi)
      mark_as_advanced(SADAM_NVIDIA_SMI)
      if(SADAM_NVIDIA_SMI AND CMAKE_VERSION VERSION_GREATER_EQUAL 3.24)
        execute_process(COMMAND ${SADAM_NVIDIA_SMI} -L OUTPUT_VARIABLE sadam_gpus ERROR_QUIET)
        if(sadam_gpus MATCHES "GPU 0")
          set(sadam_architecture native)
        endif()
      endif()
      set(CMAKE_CUDA_ARCHITECTURES ${sadam_architecture} CACHE STRING "The GPUs that the kernels are compiled for")
    endif()
    enable_language(CUDA)
    set(SADAM_HAVE_NVCC ON)
    # libtorch has a variable of its own for the architectures, which it finds out at some length unless it is set; it
    # warns of CMake's own, so that one is taken away for a while.
    set(sadam_architectures ${CMAKE_CUDA_ARCHITECTURES})
    unset(CMAKE_CUDA_ARCHITECTURES)
    unset(CMAKE_CUDA_ARCHITECTURES CACHE)
    if(NOT DEFINED TORCH_CUDA_ARCH_LIST)
      set(TORCH_CUDA_ARCH_LIST 9.0)
    endif()
    # Not that of C++, which libtorch would choose: CMake 3.25 knows no newer one for nvcc.
    if(NOT DEFINED CMAKE_CUDA_STANDARD)
      set(CMAKE_CUDA_STANDARD 17)
    endif()
  endif()
endif()

# A macro, so that what it finds is seen by the caller.
macro(sadam_settle_cuda)
  if(SADAM_HAVE_NVCC)
    set(CMAKE_CUDA_ARCHITECTURES ${sadam_architectures} CACHE STRING "The GPUs that the kernels are compiled for" FORCE)
    # Back to the user's own, without what libtorch added.
    unset(CMAKE_CUDA_ARCHITECTURES)
    unset(CMAKE_CUDA_FLAGS)
    find_package(CUDAToolkit REQUIRED)
    if(DEFINED CMAKE_CXX_COMPILER_LAUNCHER AND NOT DEFINED CMAKE_CUDA_COMPILER_LAUNCHER)
      set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
    endif()
    if(TARGET torch_cuda)
      set(SADAM_HAVE_CUDA ON)
    endif()
  endif()
  set(SADAM_NO_GPU_BECAUSE "SADAM_CUDA is ${SADAM_CUDA}")
  if(SADAM_HAVE_CUDA)  # then what is missing is something else
    set(SADAM_NO_GPU_BECAUSE "the program is not built")
  endif()
  if(SADAM_CUDA AND NOT SADAM_HAVE_CUDA)
    set(sadam_lack "this libtorch has no CUDA")
    set(sadam_remedy "name one that has it with -DCMAKE_PREFIX_PATH")
    if(NOT SADAM_HAVE_NVCC)
      set(sadam_lack "no working nvcc was found")
      set(sadam_remedy "name one with -DCMAKE_CUDA_COMPILER")
    endif()
    if(NOT SADAM_CUDA STREQUAL "AUTO")
      message(FATAL_ERROR "sadam: SADAM_CUDA is ${SADAM_CUDA}, but ${sadam_lack}: ${sadam_remedy}, or set it to AUTO.")
    endif()
    set(SADAM_NO_GPU_BECAUSE "${sadam_lack}")
    message(NOTICE "sadam: the GPU is not used, because ${sadam_lack} (${sadam_remedy}).")
  endif()
endmacro()

# sadam_cuda_target(TARGET)
#
# How our own .cu files are compiled: with the CUDA runtime that libtorch has loaded too, and with warnings. A formula
# writes its own fused multiply-adds; if the compiler added some, the CPU would round differently.
function(sadam_cuda_target target)
  set_target_properties(
    ${target}
    PROPERTIES CUDA_STANDARD_REQUIRED ON
               CUDA_RUNTIME_LIBRARY Shared
               POSITION_INDEPENDENT_CODE ON)
  target_compile_options(
    ${target}
    PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false;-Xcompiler=-Wall>"
      "$<$<AND:$<BOOL:${SADAM_WERROR}>,$<COMPILE_LANGUAGE:CUDA>>:-Werror=all-warnings>")
  target_link_libraries(${target} PRIVATE CUDA::cudart)
endfunction()
