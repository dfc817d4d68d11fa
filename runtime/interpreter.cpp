#include "runtime/interpreter.h"

#include "kernels/reference/number.h"
#include "runtime/engine.h"

namespace windtunnel {

ExecutionRecord execute(const Program& program, const ExecutionOptions& options) {
  switch (options.mode) {
    case NumberMode::field:
      return Engine<reference::Field>(program, options).run();
    case NumberMode::fp64:
      return Engine<double>(program, options).run();
    case NumberMode::fp32:
      break;  // an order of sums that no device has proves nothing
  }
  throw ExecutionError("the interpreter runs in the field and in fp64");
}

}  // namespace windtunnel
