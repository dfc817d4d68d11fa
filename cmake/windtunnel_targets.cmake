# How libraries are made: one per folder, with the flags that all code is compiled with.

add_library(windtunnel_flags INTERFACE)
target_include_directories(windtunnel_flags INTERFACE ${CMAKE_SOURCE_DIR})
# A member left out of a designated initialiser takes its default: that is what they are for.
target_compile_options(windtunnel_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
                       -ffp-contract=off)
# g++ 12 is wrong about std::string inside nested designated initialisers (maybe-uninitialized) and
# about string concatenation (restrict: GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(windtunnel_flags INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
endif()
if(WINDTUNNEL_WERROR)
  target_compile_options(windtunnel_flags INTERFACE -Werror)
endif()
if(WINDTUNNEL_SANITIZE)
  target_compile_options(windtunnel_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(windtunnel_flags INTERFACE -fsanitize=address,undefined)
endif()
if(WINDTUNNEL_TSAN)
  target_compile_options(windtunnel_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(windtunnel_flags INTERFACE -fsanitize=thread)
endif()

# windtunnel_library(NAME SOURCES a.cpp ... LINKS lib ...)
function(windtunnel_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    target_link_libraries(${name} PUBLIC windtunnel_flags ${ARG_LINKS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE windtunnel_flags ${ARG_LINKS})
  endif()
endfunction()
