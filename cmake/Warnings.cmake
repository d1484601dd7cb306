# Warnings for our own code; headers of libtorch and others are system headers and stay silent.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion>")
if(SADAM_WERROR)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
# g++ 13 sees std::vector<bool>::reserve, inlined from libtorch's Function::apply, write out of bounds: it does not.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-error=array-bounds>)
