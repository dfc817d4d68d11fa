#pragma once
// The errors of one load, collected so that a user sees all of them at once.

#include <cstddef>
#include <set>
#include <vector>

#include "core/diagnostics.h"

namespace windtunnel {

class ProblemList {
 public:
  /// With this many different problems a file is wrong as a whole, and reading stops.
  static constexpr std::size_t kMostKept = 200;
  /// The same problem found this often is not worth the time of finding it again.
  static constexpr std::size_t kMostAdded = 5000;

  /// The same problem at the same place (a wrong value in `defaults`, read once per scenario) is
  /// kept once. Throws InputError with what was found when a limit is reached.
  void add(Diagnostic problem);
  void add_all(const std::vector<Diagnostic>& problems);

  /// How many were added so far, with repetitions: tells whether a part was read without problems.
  std::size_t added() const { return added_; }

  /// Throws InputError with every kept problem in order of place, if there is one.
  void throw_if_any() const;

 private:
  struct ByPlace {
    bool operator()(const Diagnostic& a, const Diagnostic& b) const;
  };

  std::set<Diagnostic, ByPlace> problems_;
  std::size_t added_ = 0;
};

}  // namespace windtunnel
