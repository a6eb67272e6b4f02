# SPDX-License-Identifier: Apache-2.0
# stackmap_warnings(TARGET): the house's warnings and sanitizers, for one target.
option(STACKMAP_WERROR "Warnings are errors" OFF)

function(stackmap_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wundef
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual>
    $<$<BOOL:${STACKMAP_WERROR}>:-Werror>)
  if(STACKMAP_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${STACKMAP_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${STACKMAP_SANITIZE})
  endif()
  if(STACKMAP_LIBFUZZER)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()
