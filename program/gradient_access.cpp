#include "program/gradient_access.h"

#include <algorithm>

namespace windtunnel {

std::vector<SlotId> GradientUses::buffers() const {
  std::vector<SlotId> roots;
  for (const GradientAccess& read : reads) roots.push_back(read.part.root);
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  return roots;
}

std::string text_of(const Program& program, std::size_t role, const GradientAccess& access) {
  return place_text(program, {role, access.call, access.op});
}

void check_between(const Program& program, std::size_t role, const GradientAccess& reduction,
                   const GradientUses& uses, Violations& v) {
  const auto later = [&](const GradientAccess& w) {
    return w.part.overlaps(reduction.part) && w.order() > reduction.order();
  };
  const auto earlier = [&](const GradientAccess& r) {
    return r.part.overlaps(reduction.part) && r.order() < reduction.order();
  };
  const std::string text = text_of(program, role, reduction);
  if (const auto w = std::find_if(uses.writes.begin(), uses.writes.end(), later);
      w != uses.writes.end())
    v.add(text + ": the gradient is not complete before " + text_of(program, role, *w));
  if (const auto r = std::find_if(uses.reads.begin(), uses.reads.end(), earlier);
      r != uses.reads.end())
    v.add(text + ": the optimizer has already read it: " + text_of(program, role, *r));
}

}  // namespace windtunnel
