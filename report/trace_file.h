#pragma once
// The file around the events of a trace: JSON object format, one event a line.

#include <stdexcept>
#include <string>
#include <string_view>

#include "core/atomic_file.h"
#include "report/chrome_trace.h"

namespace windtunnel {

/// Written whole or not at all: nothing stands under the path before commit().
class TraceFile {
 public:
  /// Throws InputError when the path cannot be written; so do the others.
  explicit TraceFile(const std::string& path);
  void event(std::string_view event);
  void commit();

 private:
  AtomicFile file_;
  bool first_ = true;
};

/// Thrown by a sink that cannot use an event.
struct BadTraceEvent : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The events of a file that a TraceFile wrote, in order. Memory is one line. Throws InputError:
/// unreadable, another file, a line over 8 KiB, an end that is missing,
/// an event that the sink refuses.
void read_trace_file(const std::string& path, const TraceEventSink& sink);

}  // namespace windtunnel
