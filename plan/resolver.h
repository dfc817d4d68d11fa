#pragma once
// Collects what resolving a scenario finds: values with their origins, errors with their places.

#include <optional>
#include <string>
#include <vector>

#include "plan/resolved.h"
#include "plan/value_names.h"
#include "scenarios/scenario_place.h"

namespace windtunnel {

class Resolver {
 public:
  explicit Resolver(const Scenario& s) : scenario_(s) {}

  template <class T>
  T take(const std::string& key, const std::optional<T>& given, const T& fallback,
         const std::string& origin) {
    const T value = given.value_or(fallback);
    keys.push_back({.key = key, .value = value_name(value), .origin = given ? "scenario" : origin});
    return value;
  }

  template <class T>
  void note(const std::string& key, const T& value, const std::string& origin) {
    keys.push_back({.key = key, .value = value_name(value), .origin = origin});
  }

  void error(const std::string& key, std::string message, std::string hint) {
    errors.push_back(diagnostic_at(scenario_, key, std::move(message), std::move(hint)));
  }

  std::vector<ResolvedKey> keys;
  std::vector<Diagnostic> errors;

 private:
  const Scenario& scenario_;
};

}  // namespace windtunnel
