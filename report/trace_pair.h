#pragma once
// Two steps side by side in one trace file: A's processes first, then B's, with one time origin.
//
// Events keep their times (both count from the start of their step). Process and arrow ids of the
// two sides are told apart, process names begin with the side: "A stage 0".

#include <functional>
#include <string>

#include "report/chrome_trace.h"

namespace windtunnel {

/// Hands a side's events to the sink, as chrome_trace_events and read_trace_file do.
using TraceSource = std::function<void(const TraceEventSink& sink)>;

/// Whole or not at all. Throws InputError when the file cannot be written, and what a source
/// throws; to a source that reads a file, an event that is none is a BadTraceEvent.
void write_trace_pair(const TraceSource& a, const TraceSource& b, const std::string& path);

}  // namespace windtunnel
