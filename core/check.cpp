#include "core/check.h"

namespace windtunnel {

void fail_check(const char* condition, const std::string& why, const char* file, int line) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": internal error: " + why +
                      " (" + condition + ")");
}

}  // namespace windtunnel
