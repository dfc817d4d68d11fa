// Sections about the run as a whole: `stack`, `batch`, `allocator`, `data`, `measured`, `workload`.

#include <fmt/format.h>

#include "scenarios/sections/scalars.h"
#include "scenarios/sections/sections.h"

namespace windtunnel {

namespace {

/// Frameworks are matched as lower-case text.
std::optional<std::string> lower_text(const Reading& reading, const YamlValue& value) {
  auto text = free_text(reading, value);
  if (!text) return text;
  for (char& c : *text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

constexpr Key<Stack> kStackKeys[] = {
    {"framework", set<&Stack::framework, lower_text>},
    {"version", set<&Stack::version, free_text>},
    {"date", set<&Stack::date, free_text>},
};

/// Sequences of a step, tokens of a sequence.
std::optional<std::int64_t> batch_count(const Reading& reading, const YamlValue& value) {
  constexpr std::int64_t kMost = 1'000'000'000;
  return whole_number(reading, value, 1, kMost);
}

constexpr Key<Batch> kBatchKeys[] = {
    {"global", set<&Batch::global, batch_count>},
    {"micro", set<&Batch::micro, batch_count>},
    {"sequence", set<&Batch::sequence, batch_count>},
};

void read_allocator_kind(Reading& reading, const YamlValue& value, AllocatorSpec&) {
  word<kAllocatorWords>(reading, value);
}

constexpr Key<AllocatorSpec> kAllocatorKeys[] = {
    {"kind", read_allocator_kind},
    {"expandable_segments", set<&AllocatorSpec::expandable_segments, boolean>},
};

constexpr Key<DataSpec> kDataKeys[] = {
    {"load_time", set<&DataSpec::load_time, seconds>},
    {"workers", set<&DataSpec::workers, index_number>},
};

std::optional<Seconds> positive_seconds(const Reading& reading, const YamlValue& value) {
  const auto parsed = seconds(reading, value);
  if (!parsed || parsed->value > 0.0) return parsed;
  reading.problem(value, "must be above 0", "for example \"13.75 s\"");
  return std::nullopt;
}

void read_step_time_range(Reading& reading, const YamlValue& value, Measured& into) {
  const auto ends = list_of<positive_seconds>(reading, value);
  if (!ends) return;
  if (ends->size() != 2 || (*ends)[0] > (*ends)[1]) {
    reading.problem(value, "must be two times, the smaller first",
                    "for example [\"13.6 s\", \"13.9 s\"]");
    return;
  }
  into.step_time_range = {(*ends)[0], (*ends)[1]};
}

constexpr Key<Measured> kMeasuredKeys[] = {
    {"step_time", set<&Measured::step_time, positive_seconds>},
    {"step_time_range", read_step_time_range},
    {"peak_allocated", set<&Measured::peak_allocated, bytes>},
    {"peak_reserved", set<&Measured::peak_reserved, bytes>},
    {"peak_device", set<&Measured::peak_device, bytes>},
    {"peak_rank", set<&Measured::peak_rank, index_number>},
    {"oom", set<&Measured::oom, boolean>},
    {"source", set<&Measured::source, free_text>},
};

constexpr Key<Workload> kWorkloadKeys[] = {
    {"kind", set<&Workload::inference, word<kWorkloadWords>>},
    {"prompt", set<&Workload::prompt, positive>},
    {"output", set<&Workload::output, positive>},
    {"concurrency", set<&Workload::concurrency, positive>},
};

}  // namespace

void read_stack(Reading& reading, const YamlValue& value, Stack& into) {
  read_section(reading, value, kStackKeys, into);
}

void read_batch(Reading& reading, const YamlValue& value, Batch& into) {
  read_section(reading, value, kBatchKeys, into);
  require_keys(reading, value, key_names(kBatchKeys), "{global: 64, micro: 1, sequence: 2048}");
}

void read_allocator(Reading& reading, const YamlValue& value, AllocatorSpec& into) {
  read_section(reading, value, kAllocatorKeys, into);
}

void read_data(Reading& reading, const YamlValue& value, DataSpec& into) {
  read_section(reading, value, kDataKeys, into);
}

void read_measured(Reading& reading, const YamlValue& value, Measured& into) {
  read_section(reading, value, kMeasuredKeys, into);
  if (!into.step_time) return;
  if (into.oom.value_or(false)) {
    reading.problem(value, "a run that went out of memory has no step_time",
                    "remove step_time or write oom: false");
  }
  into.oom = false;
}

void read_workload(Reading& reading, const YamlValue& value, Workload& into) {
  read_section(reading, value, kWorkloadKeys, into);
  const bool sizes = into.prompt + into.output + into.concurrency > 0;
  if (sizes && !into.inference) {
    reading.problem(value, "prompt, output and concurrency belong to inference",
                    "{kind: inference, prompt: 1024, output: 256, concurrency: 8}");
  }
  if (into.inference) {
    require_keys(reading, value, key_names(kWorkloadKeys),
                 "{kind: inference, prompt: 1024, output: 256, concurrency: 8}");
  }
}

std::vector<KeySection> job_keys() {
  return {{"stack", key_names(kStackKeys)},         {"batch", key_names(kBatchKeys)},
          {"allocator", key_names(kAllocatorKeys)}, {"data", key_names(kDataKeys)},
          {"measured", key_names(kMeasuredKeys)},   {"workload", key_names(kWorkloadKeys)}};
}

}  // namespace windtunnel
