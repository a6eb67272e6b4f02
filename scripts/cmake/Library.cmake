# SPDX-License-Identifier: Apache-2.0
# stackmap_library(FOLDER SOURCES a.cpp ... LINK target ...): the static library of one folder below src/, as sm_FOLDER.
# Headers are included from src/ ("base/result.h"); who may include whom is checked by scripts/check_includes.py.
function(stackmap_library folder)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(sm_${folder} STATIC ${arg_SOURCES})
  target_include_directories(sm_${folder} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(sm_${folder} PUBLIC ${arg_LINK})
  stackmap_warnings(sm_${folder})
  # Six files at a time take less than half the time of six files. Not in the normal build, where each must include what it
  # needs.
  set_target_properties(sm_${folder} PROPERTIES UNITY_BUILD ${STACKMAP_UNITY} UNITY_BUILD_BATCH_SIZE 6)
endfunction()
