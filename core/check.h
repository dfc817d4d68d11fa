#pragma once
// CHECK(cond, "why"): for our own bugs only. A failed check is unreachable from any user input; it
// throws InternalError, which `cli/` turns into exit code 70 with the text and place of the check.

#include <stdexcept>
#include <string>

namespace windtunnel {

struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* condition, const std::string& why, const char* file,
                             int line);

}  // namespace windtunnel

#define CHECK(condition, why)         \
  ((condition) ? static_cast<void>(0) \
               : ::windtunnel::fail_check(#condition, (why), __FILE__, __LINE__))
