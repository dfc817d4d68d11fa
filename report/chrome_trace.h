#pragma once
// A simulated (or executed) step as a trace file that Perfetto and chrome://tracing open.
//
// JSON object format of the Trace Event specification (Google, "Trace Event Format", 2016). One
// process per pipeline stage (and lane, where a trace has several), one track per stream, one for
// the host, and one, "calls", that shows whole forwards and backwards on the compute
// stream. Arrows ("s" and "f" events)
// lead from each send to its receive. Counters ("C") show the bytes allocated, by category and in
// total, at the host time of each allocation: an allocator acts when the host issues.
//
// Times are cut to nanoseconds, which keeps what follows on a stream from overlapping. Memory is
// O(transfers): events are handed on as they are made.

#include <functional>
#include <string>
#include <string_view>

#include "program/program.h"
#include "program/trace.h"

namespace windtunnel {

/// Takes events one by one, each a JSON object in one line.
using TraceEventSink = std::function<void(std::string_view event)>;

/// Precondition: the trace is of this program.
void chrome_trace_events(const Program& program, const Trace& trace, const TraceEventSink& sink);

/// As a file, whole or not at all. Throws InputError when `path` cannot be written.
void write_chrome_trace(const Program& program, const Trace& trace, const std::string& path);

}  // namespace windtunnel
