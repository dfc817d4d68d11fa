#pragma once
// Memory for people: the verdict with its margin, and a row per pipeline stage by category.

#include <string>
#include <string_view>

#include "report/step_report.h"

namespace windtunnel {

/// "memory  fits: stage 0 peaks at 61.2 of 78.9 GiB ...": verdict, margin, stage, moment, and what
/// breaks it when it does not fit.
std::string verdict_text(const MemoryAnswer& memory);

/// Peaks and categories of each stage.
std::string stage_memory_text(const MemoryAnswer& memory);

/// Whether a category counts in peak_device only: "context", "nccl", "other".
bool is_outside_allocator(std::string_view category);

/// "fits", "tight", "oom": the word of the JSON.
const char* name_of(Verdict verdict);

}  // namespace windtunnel
