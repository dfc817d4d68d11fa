#include "scenarios/problem_list.h"

#include <fmt/format.h>

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
  if (problems_.contains(problem)) return;
  if (problems_.size() < kKept) {
    problems_.insert(std::move(problem));
  } else {
    dropped_ = true;
  }
}

void ProblemList::add_all(const std::vector<Diagnostic>& problems) {
  for (const Diagnostic& problem : problems) add(problem);
}

void ProblemList::throw_if_any() const {
  if (problems_.empty()) return;
  std::vector<Diagnostic> all(problems_.begin(), problems_.end());
  if (dropped_) {
    all.push_back({.position = {.file = all.back().position.file},
                   .message = fmt::format("more than {} errors; the rest are not shown", kKept),
                   .hint = {},
                   .source_line = {}});
  }
  throw InputError(std::move(all));
}

}  // namespace windtunnel
