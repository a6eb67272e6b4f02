# SPDX-License-Identifier: Apache-2.0
# stackmap_library(FOLDER SOURCES a.cpp ... LINK target ...): the static library of one folder below src/, as sm_FOLDER.
# Headers are included from src/ ("base/result.h"); who may include whom is checked by scripts/check_includes.py.
function(stackmap_library folder)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(sm_${folder} STATIC ${arg_SOURCES})
  target_include_directories(sm_${folder} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(sm_${folder} PUBLIC ${arg_LINK})
  stackmap_warnings(sm_${folder})
endfunction()
