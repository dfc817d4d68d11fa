#include "core/data_dir.h"

#include <cstdlib>

namespace windtunnel {

std::string data_dir() {
  const char* overridden = std::getenv("WINDTUNNEL_DATA");
  std::string path =
      overridden != nullptr && *overridden != '\0' ? overridden : WINDTUNNEL_DATA_DIR;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace windtunnel
