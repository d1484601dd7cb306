# Instruments what is compiled here. libtorch itself is not instrumented: its own errors are not reported.
if(SADAM_SANITIZE)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${SADAM_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>")
  add_link_options(-fsanitize=${SADAM_SANITIZE})
endif()
