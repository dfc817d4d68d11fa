#pragma once
// The texts of `zoo/*.yaml`, as the build compiled them in (zoo_files.cpp.in), ordered by name.

#include <span>
#include <string_view>

namespace windtunnel {

struct ZooFile {
  std::string_view name;  // file name without its extension
  std::string_view yaml;
};

std::span<const ZooFile> zoo_files();

}  // namespace windtunnel
