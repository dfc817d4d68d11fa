# How tests are made: one GoogleTest binary per tested folder, each of its tests one CTest test.
#
# Labels say what a test needs, and so where it runs. `unit` (the default) also runs under the
# sanitizers, so a binary that is slow to compile with them (CLI11, Eigen) takes another label.
# The target `unit_tests` builds the binaries labelled `unit`.
include(GoogleTest)
find_package(GTest REQUIRED)
enable_testing()
add_custom_target(unit_tests)

# windtunnel_test(NAME SOURCES a_test.cpp ... LINKS lib ... [LABELS unit])
function(windtunnel_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE windtunnel_flags ${ARG_LINKS} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE WINDTUNNEL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 PROPERTIES LABELS "${ARG_LABELS}")
  if("unit" IN_LIST ARG_LABELS)
    add_dependencies(unit_tests ${name})
  endif()
endfunction()
