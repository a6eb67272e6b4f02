# SPDX-License-Identifier: Apache-2.0
# stackmap_bpf_skeleton(NAME SOURCES a.bpf.c ...): compiles each source for BPF, links them into NAME.bpf.o and generates
# NAME.skel.h; the INTERFACE library bpf_NAME gives its include directory. Header edits rebuild: every compile has a depfile.
find_program(BPF_CLANG NAMES clang clang-19 clang-16 clang-15 clang-14 REQUIRED)
find_program(BPFTOOL bpftool HINTS /usr/sbin /sbin REQUIRED)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)")
  set(BPF_ARCH arm64)
else()
  set(BPF_ARCH x86)
endif()

function(stackmap_bpf_skeleton name)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  set(objects)
  foreach(source ${arg_SOURCES})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${source}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${BPF_CLANG} -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_${BPF_ARCH}
        -Wall -Wextra -Wno-unused-parameter -Werror -MMD -MT ${object} -MF ${object}.d
        -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d COMMENT "BPF ${source}" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(linked ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
  add_custom_command(OUTPUT ${linked} COMMAND ${BPFTOOL} gen object ${linked} ${objects}
    DEPENDS ${objects} COMMENT "BPF link ${name}" VERBATIM)
  set(include ${CMAKE_CURRENT_BINARY_DIR}/include)
  set(skeleton ${include}/${name}.skel.h)
  # Written beside and renamed: a failed run leaves no empty header behind.
  add_custom_command(OUTPUT ${skeleton}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${include}
    COMMAND sh -c "'${BPFTOOL}' gen skeleton '${linked}' name ${name}_bpf > '${skeleton}.tmp'"
    COMMAND ${CMAKE_COMMAND} -E rename ${skeleton}.tmp ${skeleton}
    DEPENDS ${linked} COMMENT "BPF skeleton ${name}" VERBATIM)
  add_custom_target(bpf_${name}_skeleton DEPENDS ${skeleton})
  add_library(bpf_${name} INTERFACE)
  target_include_directories(bpf_${name} SYSTEM INTERFACE ${include})
  add_dependencies(bpf_${name} bpf_${name}_skeleton)
endfunction()
