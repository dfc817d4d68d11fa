#include "report/trace_pair.h"

#include <nlohmann/json.hpp>

#include "report/trace_file.h"

namespace windtunnel {

namespace {

using Json = nlohmann::ordered_json;

struct Side {
  const char* name;
  std::int64_t place;
};

/// More processes than ranks of any job, more arrows than transfers of any step.
constexpr std::int64_t kMostProcesses = 10'000'000, kMostArrows = 1'000'000'000'000;

/// Even numbers are A's, odd ones B's.
void tell_apart(Json& event, const char* key, std::int64_t most, const Side& side) {
  const auto found = event.find(key);
  if (found == event.end()) return;
  if (!found->is_number_integer()) throw BadTraceEvent(std::string("no number: ") + key);
  const auto id = found->get<std::int64_t>();
  if (id < 0 || id > most) throw BadTraceEvent(std::string("out of range: ") + key);
  *found = 2 * id + side.place;
}

/// Name and order of a process.
void rename(Json& event, const Side& side) {
  if (event.value("ph", Json()) != "M") return;
  const auto name = event.find("name");
  if (name == event.end()) return;
  if (*name == "process_name") {
    Json& text = event["args"]["name"];
    if (!text.is_string()) throw BadTraceEvent("a process without a name");
    text = std::string(side.name) + " " + text.get<std::string>();
  } else if (*name == "process_sort_index") {
    event["args"]["sort_index"] =
        side.place * 2 * (kMostProcesses + 1) + event["pid"].get<std::int64_t>();
  }
}

void copy_events(const TraceSource& source, const Side& side, TraceFile& file) {
  source([&](std::string_view text) {
    Json event = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!event.is_object() || !event.contains("pid") ||
        (event.contains("args") && !event["args"].is_object())) {
      throw BadTraceEvent("is no event of a trace");
    }
    tell_apart(event, "pid", kMostProcesses, side);
    tell_apart(event, "id", kMostArrows, side);
    rename(event, side);
    file.event(event.dump());
  });
}

}  // namespace

void write_trace_pair(const TraceSource& a, const TraceSource& b, const std::string& path) {
  TraceFile file(path);
  copy_events(a, {.name = "A", .place = 0}, file);
  copy_events(b, {.name = "B", .place = 1}, file);
  file.commit();
}

}  // namespace windtunnel
