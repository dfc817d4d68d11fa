#include "plan/resolve_overlap.h"

#include <fmt/format.h>

#include "plan/call_order.h"
#include "plan/overlapped_linear.h"
#include "plan/preset_defaults.h"
#include "plan/schedules/schedule.h"

namespace windtunnel {

namespace {

void resolve_pp(const Scenario& s, Resolver& r, ResolvedPlan& p, const std::string& preset) {
  const PresetDefaults& d = defaults_of(s.plan.preset);
  const bool overlaps = p.schedule == ScheduleKind::interleaved_1f1b && d.overlap_pp_interleaved &&
                        stack_since(s.stack, 2023, 5);
  const bool swept = is_swept(p.schedule);
  p.overlap_pp =
      r.take("plan.overlap.pp", s.plan.overlap.pp, overlaps || swept, swept ? "schedule" : preset);
  if (swept && !p.overlap_pp) {
    r.error("plan.overlap.pp",
            std::string(schedule_row(p.schedule).name) +
                " sends both ways at once and posts its transfers asynchronously",
            "pp: true, or leave it out");
  }
}

/// TransformerEngine fills userbuffers with wide rows, rows of one scale, and mxfp8
/// (pytorch/module/base.py, fill_userbuffers_buffer_for_all_gather).
bool has_no_buffers(const FrameworkRules& rules, const ResolvedPlan& p) {
  const bool blocks = p.scaling == ScalingRecipe::blockwise || p.scaling == ScalingRecipe::nvfp4;
  return rules.tp_overlap == TpOverlap::userbuffers && blocks;
}

void check_tp(const Scenario& s, const FrameworkRules& rules, Resolver& r, const ResolvedPlan& p) {
  constexpr const char* kKey = "plan.overlap.tp";
  constexpr const char* kOff = "tp: false";
  if (rules.tp_overlap == TpOverlap::none) {
    return r.error(kKey,
                   rules.name +
                       " of this date has no products beside the transfers of their "
                       "operands",
                   kOff);
  }
  if (p.tp == 1) return r.error(kKey, "one tp rank has nothing to transfer", kOff);
  if (!p.sequence_parallel) {
    return r.error(kKey,
                   "products run beside the gathers and scatters of sequence parallelism, not "
                   "beside all-reduces",
                   "sequence_parallel: true");
  }
  if (rules.tp_overlap == TpOverlap::userbuffers && s.model.hidden % kSplits != 0) {
    r.error(kKey,
            fmt::format("hidden = {} is not {} equal ranges, which are scattered in turn",
                        s.model.hidden, kSplits),
            kOff);
  }
  if (has_no_buffers(rules, p)) {
    r.error(kKey, fmt::format("userbuffers have no {} scaling", value_name(p.scaling)), kOff);
  }
}

}  // namespace

void resolve_overlap(const Scenario& s, const FrameworkRules& rules, Resolver& r, ResolvedPlan& p,
                     const std::string& preset) {
  resolve_pp(s, r, p, preset);
  p.overlap_tp = r.take("plan.overlap.tp", s.plan.overlap.tp, false, preset);
  if (p.overlap_tp) check_tp(s, rules, r, p);
}

}  // namespace windtunnel
