#include "scenarios/problem_list.h"

#include <tuple>

namespace windtunnel {

namespace {

auto place_of(const Diagnostic& d) {
  return std::tie(d.position.file, d.position.line, d.position.column, d.message);
}

}  // namespace

bool ProblemList::ByPlace::operator()(const Diagnostic& a, const Diagnostic& b) const {
  return place_of(a) < place_of(b);
}

void ProblemList::add(Diagnostic problem) {
  ++added_;
  problems_.insert(std::move(problem));
  if (problems_.size() < kMostKept && added_ < kMostAdded) return;
  std::vector<Diagnostic> all(problems_.begin(), problems_.end());
  all.push_back({.position = {.file = all.back().position.file},
                 .message = "too many errors; reading stopped here",
                 .hint = {},
                 .source_line = {}});
  throw InputError(std::move(all));
}

void ProblemList::add_all(const std::vector<Diagnostic>& problems) {
  for (const Diagnostic& problem : problems) add(problem);
}

void ProblemList::throw_if_any() const {
  if (problems_.empty()) return;
  throw InputError({problems_.begin(), problems_.end()});
}

}  // namespace windtunnel
