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
  }
  return {};
}

}  // namespace windtunnel
