#include "report/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "core/check.h"
#include "program/op_names.h"
#include "report/json_text.h"
#include "report/memory_counter.h"
#include "report/trace_file.h"

namespace windtunnel {

namespace {

constexpr int kCallsTrack = 0;
constexpr std::size_t kStreams = static_cast<std::size_t>(kHostTrack) + 1;
// Transfers of one group run side by side on one stream; each gets a track of its own below it.
constexpr std::size_t kSideBySide = 8;

/// The host first, then the streams in their order.
int track_of(Stream stream, std::size_t beside) {
  const std::size_t place = stream == kHostTrack ? 0 : static_cast<std::size_t>(stream) + 1;
  return 1 + static_cast<int>(place * kSideBySide + beside);
}

std::int64_t nanoseconds(Picoseconds time) {
  return time / 1000;
}

/// Microseconds with three decimals, exact.
std::string timestamp(std::int64_t ns) {
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

struct Process {
  std::size_t role = 0;
  std::int32_t lane = 0;
  int id = 0;
};

/// Where the arrows of a record begin or end.
struct FlowEnds {
  std::unordered_map<std::uint32_t, std::uint32_t> sends, recvs;  // record -> id of the arrow
};

FlowEnds flow_ends(const Trace& trace) {
  FlowEnds ends;
  for (std::uint32_t i = 0; i < trace.transfers.size(); ++i) {
    ends.sends.emplace(trace.transfers[i].send, i + 1);
    ends.recvs.emplace(trace.transfers[i].recv, i + 1);
  }
  return ends;
}

class TraceWriter {
 public:
  TraceWriter(const Program& program, const Trace& trace, const TraceEventSink& sink)
      : program_(program), trace_(trace), flows_(flow_ends(trace)), sink_(sink) {}

  void write() {
    std::size_t begin = 0;
    while (begin < trace_.records.size()) {
      std::size_t end = begin;
      std::int32_t lanes = 1;
      while (end < trace_.records.size() &&
             trace_.records[end].role == trace_.records[begin].role) {
        lanes = std::max(lanes, trace_.records[end].lane + 1);
        ++end;
      }
      for (std::int32_t lane = 0; lane < lanes; ++lane) {
        write_process({.role = static_cast<std::size_t>(trace_.records[begin].role),
                       .lane = lane,
                       .id = next_process_++},
                      lanes, begin, end);
      }
      begin = end;
    }
  }

 private:
  template <class... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    line_.clear();
    fmt::format_to(std::back_inserter(line_), format, std::forward<Args>(args)...);
    sink_(line_);
  }

  void write_process(const Process& process, std::int32_t lanes, std::size_t begin,
                     std::size_t end) {
    CHECK(process.role < program_.roles.size(), "a trace is written with its own program");
    const Role& role = program_.roles[process.role];
    std::string name = fmt::format("stage {}", role.pipeline_rank);
    if (lanes > 1) name += fmt::format(", lane {}", process.lane);
    event(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"{}"}}}})", process.id,
          name);
    event(R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})",
          process.id);
    name_track(process, kCallsTrack, "calls");
    busy_until_.assign(kStreams * kSideBySide, -1);
    MemoryCounter memory(program_, role);
    std::array<std::int64_t, MemoryCounter::kCategories> shown{};
    shown.fill(-1);
    open_call_ = {};
    for (std::size_t i = begin; i < end; ++i) {
      const TraceRecord& record = trace_.records[i];
      if (record.lane != process.lane) continue;
      memory.advance(record.call, record.op);
      write_memory(process, nanoseconds(record.issue), memory.bytes(), shown);
      extend_call(process, record);
      write_record(process, record, static_cast<std::uint32_t>(i));
    }
    close_call(process);
  }

  void name_track(const Process& process, int track, const std::string& name) {
    event(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
          process.id, track, name);
    event(
        R"({{"ph":"M","name":"thread_sort_index","pid":{0},"tid":{1},"args":{{"sort_index":{1}}}}})",
        process.id, track);
  }

  /// A track of the record's stream that is free; named when it is first used.
  int free_track(const Process& process, Stream stream, std::int64_t start, std::int64_t end) {
    const std::size_t first = static_cast<std::size_t>(stream) * kSideBySide;
    std::size_t beside = 0;
    while (beside + 1 < kSideBySide && busy_until_[first + beside] > start) ++beside;
    std::int64_t& busy = busy_until_[first + beside];
    const int track = track_of(stream, beside);
    if (busy < 0) {
      std::string name = stream == kHostTrack ? "host" : name_of(stream);
      if (beside > 0) name += fmt::format(" ({})", beside + 1);
      name_track(process, track, name);
    }
    busy = std::max(busy, end);
    return track;
  }

  void write_record(const Process& process, const TraceRecord& record, std::uint32_t index) {
    const Op& op = program_.ops[record.op];
    const Call& call = program_.roles[process.role].calls[record.call];
    const std::int64_t start = nanoseconds(record.start), end = nanoseconds(record.end);
    const int track = free_track(process, record.stream, start, end);
    event(R"({{"ph":"X","name":"{}","cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
          op_label(op), name_of(op.phase), process.id, track, timestamp(start),
          timestamp(end - start), op_arguments(op, call));
    write_flow(flows_.sends, index, "\"s\"", {process.id, track, start});
    // An arrow ends inside its slice, at the moment the data is there.
    write_flow(flows_.recvs, index, "\"f\",\"bp\":\"e\"",
               {process.id, track, std::max(start, end - 1)});
  }

  struct Place {
    int process, track;
    std::int64_t ns;
  };
  void write_flow(const std::unordered_map<std::uint32_t, std::uint32_t>& ends,
                  std::uint32_t record, const char* phase, const Place& at) {
    const auto found = ends.find(record);
    if (found == ends.end()) return;
    event(R"({{"ph":{},"name":"p2p","cat":"p2p","id":{},"pid":{},"tid":{},"ts":{}}})", phase,
          found->second, at.process, at.track, timestamp(at.ns));
  }

  std::string op_label(const Op& op) const {
    switch (op.kind) {
      case OpKind::compute:
      case OpKind::host_work: {
        std::string label = name_of(program_.shapes[op.shape].kernel);
        if (op.module != Module::none) label += fmt::format(" {}", name_of(op.module));
        return op.recompute ? label + " (recompute)" : label;
      }
      case OpKind::collective:
        return fmt::format("{} {}", name_of(op.collective), program_.comms[op.comm].name);
      case OpKind::send:
      case OpKind::recv: {
        const auto peer = static_cast<std::size_t>(op.peer);
        return fmt::format("{} {} stage {}", name_of(op.kind),
                           op.kind == OpKind::send ? "to" : "from",
                           program_.roles[peer].pipeline_rank);
      }
      default:
        return name_of(op.kind);
    }
  }

  std::string op_arguments(const Op& op, const Call& call) const {
    std::string args = fmt::format(R"("segment":{})", segment_name(call));
    if (call.chunk >= 0) args += fmt::format(R"(,"chunk":{})", call.chunk);
    if (call.micro_batch >= 0) args += fmt::format(R"(,"micro_batch":{})", call.micro_batch);
    if (op.layer >= 0) args += fmt::format(R"(,"layer":{})", op.layer);
    std::int64_t bytes = 0;
    if (op.shape != kNone) {
      const Shape& shape = program_.shapes[op.shape];
      bytes = shape.bytes_read + shape.bytes_written;
    } else if (op.elements > 0) {
      bytes = bytes_of(op.dtype, op.elements);
    }
    if (bytes > 0) args += fmt::format(R"(,"bytes":{})", bytes);
    return args;
  }

  std::string segment_name(const Call& call) const {
    return json_string(program_.names[program_.segments[call.segment].name]);
  }

  /// The total and the categories that changed: one counter, whose series keep their values.
  void write_memory(const Process& process, std::int64_t at,
                    const std::array<std::int64_t, MemoryCounter::kCategories>& bytes,
                    std::array<std::int64_t, MemoryCounter::kCategories>& shown) {
    if (bytes == shown) return;
    std::int64_t total = 0;
    std::string series;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      total += bytes[i];
      if (bytes[i] == shown[i] || (bytes[i] == 0 && shown[i] < 0)) continue;
      series += fmt::format(R"(,"{}":{})", name_of(static_cast<Category>(i)), bytes[i]);
    }
    event(R"({{"ph":"C","name":"memory","pid":{},"ts":{},"args":{{"allocated":{}{}}}}})",
          process.id, timestamp(at), total, series);
    shown = bytes;
  }

  struct OpenCall {
    const Call* call = nullptr;
    std::uint32_t index = 0;
    Picoseconds start = 0, end = 0;
  };

  void extend_call(const Process& process, const TraceRecord& record) {
    const OpKind kind = program_.ops[record.op].kind;
    // A transfer runs beside others of its group, and says what it is by itself.
    if (record.stream != Stream::compute || is_message(kind)) return;
    if (open_call_.call && open_call_.index == record.call) {
      open_call_.start = std::min(open_call_.start, record.start);
      open_call_.end = std::max(open_call_.end, record.end);
      return;
    }
    close_call(process);
    open_call_ = {.call = &program_.roles[process.role].calls[record.call],
                  .index = record.call,
                  .start = record.start,
                  .end = record.end};
  }

  void close_call(const Process& process) {
    if (!open_call_.call) return;
    const Call& call = *open_call_.call;
    std::string label = program_.names[program_.segments[call.segment].name];
    if (call.micro_batch >= 0) label += fmt::format(" {}", call.micro_batch);
    const std::int64_t start = nanoseconds(open_call_.start);
    event(R"({{"ph":"X","name":{},"cat":"call","pid":{},"tid":{},"ts":{},"dur":{}}})",
          json_string(label), process.id, kCallsTrack, timestamp(start),
          timestamp(nanoseconds(open_call_.end) - start));
    open_call_ = {};
  }

  const Program& program_;
  const Trace& trace_;
  FlowEnds flows_;
  const TraceEventSink& sink_;
  std::string line_;
  int next_process_ = 1;
  std::vector<std::int64_t> busy_until_;  // [stream * kSideBySide + beside], nanoseconds
  OpenCall open_call_;
};

}  // namespace

void chrome_trace_events(const Program& program, const Trace& trace, const TraceEventSink& sink) {
  TraceWriter(program, trace, sink).write();
}

void write_chrome_trace(const Program& program, const Trace& trace, const std::string& path) {
  TraceFile file(path);
  chrome_trace_events(program, trace, [&file](std::string_view event) { file.event(event); });
  file.commit();
}

}  // namespace windtunnel
