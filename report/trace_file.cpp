#include "report/trace_file.h"

#include <filesystem>
#include <fstream>

#include "core/diagnostics.h"

namespace windtunnel {

namespace {

constexpr std::string_view kHead = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
constexpr std::string_view kTail = "]}";
/// The longest event, one of memory with every category, takes half a kilobyte. What is short is
/// also not nested deeply.
constexpr std::size_t kMostLineBytes = 8192;

[[noreturn]] void refuse(const std::string& path, int line, std::string message,
                         std::string hint = {}) {
  throw InputError({{.position = {.file = path, .line = line, .column = line > 0 ? 1 : 0},
                     .message = std::move(message),
                     .hint = std::move(hint),
                     .source_line = ""}});
}

/// Lines of a file, none longer than the bound.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path) {
    std::error_code error;  // opening a pipe would wait for its writer
    if (std::filesystem::is_regular_file(path, error)) file_.open(path, std::ios::binary);
    if (!file_.is_open()) refuse(path, 0, "cannot read the file");
  }

  /// False at the end of the file.
  bool next(std::string& line) {
    line.resize(kMostLineBytes + 1);
    file_.getline(line.data(), static_cast<std::streamsize>(line.size()));
    const auto taken = static_cast<std::size_t>(file_.gcount());
    if (taken == 0) return false;
    ++number_;
    if (file_.fail()) refuse(path_, number_, "a line over 8 KiB: is no trace of a step");
    line.resize(file_.eof() ? taken : taken - 1);
    return true;
  }

  int number() const { return number_; }
  /// The last line had no end: a file of ours was cut off there.
  bool cut_off() const { return file_.eof(); }

 private:
  const std::string& path_;
  std::ifstream file_;
  int number_ = 0;
};

}  // namespace

TraceFile::TraceFile(const std::string& path) : file_(path) {
  file_.write(kHead);
}

void TraceFile::event(std::string_view event) {
  file_.write(first_ ? "\n" : ",\n");
  first_ = false;
  file_.write(event);
}

void TraceFile::commit() {
  file_.write("\n");
  file_.write(kTail);
  file_.write("\n");
  file_.commit();
}

void read_trace_file(const std::string& path, const TraceEventSink& sink) {
  Lines lines(path);
  std::string line;
  if (!lines.next(line) || line != kHead) {
    refuse(path, 1, "is no trace of a step",
           "such a file comes from: windtunnel simulate S.yaml --trace step.json");
  }
  while (lines.next(line)) {
    if (line == kTail) return;
    if (lines.cut_off()) break;
    std::string_view event = line;
    if (event.ends_with(',')) event.remove_suffix(1);
    try {
      sink(event);
    } catch (const BadTraceEvent& bad) {
      refuse(path, lines.number(), bad.what());
    }
  }
  refuse(path, lines.number(), "the trace ends too early");
}

}  // namespace windtunnel
