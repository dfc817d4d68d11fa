#include "report/step_text.h"

#include <fmt/format.h>

#include "core/unit_text.h"
#include "report/memory_text.h"
#include "report/text_layout.h"
#include "report/time_text.h"

namespace windtunnel {

namespace {

std::string head_text(const StepReport& r) {
  std::string text = r.id;
  if (!r.name.empty() && r.name != r.id) text += (text.empty() ? "" : ": ") + r.name;
  text = wrap_text(text, "");
  std::string model = r.model_line;
  if (r.parameters > 0) model += ", " + format_parameters(r.parameters) + " parameters";
  if (r.trained_parameters) model += ", " + format_parameters(*r.trained_parameters) + " trained";
  text += wrap_text(model, "model      ");
  text += wrap_text(r.cluster_line, "cluster    ");
  text += wrap_text(r.plan_line, "plan       ");
  if (!r.stack_line.empty()) text += wrap_text(r.stack_line, "stack      ");
  return text;
}

std::string list_text(const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string text = std::string(title) + "\n";
  for (const std::string& line : lines) text += wrap_text(line, "  - ");
  return text;
}

std::string degraded_text(const StepReport& r) {
  std::vector<std::string> lines = r.degraded;
  if (r.step_time_sound_s) {
    const double more = r.step_time_s / *r.step_time_sound_s - 1.0;
    lines.push_back(fmt::format("without them the step takes {}: they add {}",
                                format_seconds({*r.step_time_sound_s}), format_percent(more)));
  }
  return list_text("Slow parts", lines);
}

/// Sections with an empty line between them; empty ones leave no gap.
std::string join_sections(const std::vector<std::string>& sections) {
  std::string text;
  for (const std::string& section : sections) {
    if (section.empty()) continue;
    if (!text.empty()) text += '\n';
    text += section;
  }
  return text;
}

}  // namespace

std::string step_text(const StepReport& r) {
  return join_sections(
      {head_text(r), step_time_text(r) + bottleneck_text(r) + verdict_text(r.memory),
       degraded_text(r), breakdown_text(r), stage_times_text(r), stage_memory_text(r.memory),
       list_text("Assumptions", r.assumptions), list_text("Where the numbers come from", r.origins),
       list_text("Calibrate next", r.calibrate_next)});
}

std::string check_text(const StepReport& r) {
  return join_sections({head_text(r), verdict_text(r.memory), stage_memory_text(r.memory),
                        list_text("Assumptions", r.assumptions)});
}

}  // namespace windtunnel
