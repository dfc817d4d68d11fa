#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "core/diagnostics.h"
#include "core/nearest_name.h"
#include "core/quantity_text.h"

namespace windtunnel {

namespace {

constexpr const char* kVersion = "windtunnel 0.1.0";
// An interval needs a spread, which one draw has not; more than this many tell nothing new.
constexpr int kLeastDraws = 2, kMostDraws = 4096;
constexpr int kMostSteps = 100'000;
// A limit of more than this many times the value is no limit.
constexpr double kMostPercent = 1e6;

[[noreturn]] void refuse(std::string message, std::string hint) {
  refuse_file("", std::move(message), std::move(hint));
}

/// The whole text is an integer of T's range.
template <class T>
std::optional<T> read_integer(const std::string& text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string rank_problem(const std::string& text) {
  return read_integer<int>(text).value_or(-1) < 0 ? "is no rank: " + text : "";
}

constexpr double kMostJitter = 0.25;  // durations stay positive

/// CLI11 would take -1 for the largest number.
std::string seed_problem(const std::string& text) {
  return read_integer<std::uint64_t>(text) ? "" : "is no number from 0 up: " + text;
}

std::string draws_problem(const std::string& text) {
  const std::optional<int> draws = read_integer<int>(text);
  if (!draws) return "is no number: " + text;
  if (*draws == 0 || (*draws >= kLeastDraws && *draws <= kMostDraws)) return "";
  return "must be 0 (no interval) or from " + std::to_string(kLeastDraws) + " to " +
         std::to_string(kMostDraws);
}

/// "10%": a bare number would leave open whether 10 is ten times or a tenth.
std::optional<double> read_percentage(std::string text) {
  if (text.empty() || text.back() != '%') return std::nullopt;
  text.pop_back();
  if (!text.empty() && text.back() == ' ') text.pop_back();
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || stop != end || !(value >= 0) || value > kMostPercent) {
    return std::nullopt;
  }
  return value / 100.0;
}

std::string percentage_problem(const std::string& text) {
  return read_percentage(text) ? "" : "is no percentage: " + text + " (for example 10%)";
}

std::string trace_problem(const std::string& text) {
  return text.empty() ? "names no file" : "";
}

void add_view(CLI::App& app, Options& options) {
  const auto view = [&](const char* flag, PlanView which, const char* doc) {
    app.add_flag_callback(
        flag, [&options, which] { options.view = which; }, doc);
  };
  view("--resolved", PlanView::resolved, "every value of the plan and where it comes from");
  view("--ops", PlanView::ops, "the ops of one rank, one a line");
  view("--grid", PlanView::grid, "only the step x rank grid");
  app.add_option("--rank", options.rank, "with --ops: whose [0]")
      ->type_name("RANK")
      ->check(CLI::Validator(rank_problem, ""));
}

/// Views of a plan go one at a time. CLI11 would spell the rule out beside every flag of the help.
void check_view(const CLI::App& app) {
  const char* given = nullptr;
  for (const char* flag : {"--json", "--resolved", "--ops", "--grid"}) {
    if (app.count(flag) == 0) continue;
    if (given) refuse(std::string(given) + " and " + flag + " exclude each other", "");
    given = flag;
  }
  if (app.count("--rank") > 0 && app.count("--ops") == 0) {
    refuse("--rank says whose ops", "add --ops");
  }
}

void add_limits(CLI::App& app, Options& options) {
  CompareLimits& limits = options.limits;
  const auto percentage = [&app](const char* flag, const std::function<void(double)>& set,
                                 const char* doc) {
    app.add_option_function<std::string>(
           flag, [set](const std::string& text) { set(*read_percentage(text)); }, doc)
        ->type_name("PERCENT")
        ->check(CLI::Validator(percentage_problem, ""));
  };
  percentage(
      "--max-step-error", [&limits](double share) { limits.step_error = share; },
      "exit with 1 when the step time is further from A's");
  percentage(
      "--max-term-error", [&limits](double share) { limits.term_error = share; },
      "exit with 1 when a term of the breakdown is");
  percentage(
      "--term-floor", [&limits](double share) { limits.term_floor = share; },
      "a term may be off by this share of the step, however small it is [3%]");
  app.add_flag("--exact-memory", limits.exact_memory,
               "exit with 1 when allocated bytes differ, by stage and category");
  app.add_flag("--exact-traffic", limits.exact_traffic,
               "exit with 1 when calls, elements or bytes communicated differ");
}

void check_limits(const CLI::App& app) {
  if (app.count("--term-floor") > 0 && app.count("--max-term-error") == 0) {
    refuse("--term-floor says how small a term may be", "add --max-term-error 10%");
  }
}

void add_trace_sides(CLI::App& app, Options& options) {
  const auto side = [&app](const char* flag, std::string& path, const char* doc) {
    app.add_option(flag, path, doc)->type_name("PATH")->check(CLI::Validator(trace_problem, ""));
  };
  side("--trace-a", options.trace_a,
       "the trace of A, from run or simulate --trace [a scenario's own]");
  side("--trace-b", options.trace_b, "the trace of B");
}

void check_trace_sides(const CLI::App& app) {
  for (const char* flag : {"--trace-a", "--trace-b"}) {
    if (app.count(flag) > 0 && app.count("--trace") == 0) {
      refuse(std::string(flag) + " goes into a trace of both", "add --trace both.json");
    }
  }
}

std::string budget_problem(const std::string& text) {
  constexpr Seconds kLeast{1.0}, kMost{86'400.0};
  const ParsedQuantity<Seconds> budget = parse_seconds(text);
  if (!budget.ok()) return budget.problem + " (" + budget.hint + ")";
  return budget.value < kLeast || budget.value > kMost ? "must be from 1 s to 1 d" : "";
}

void add_warm_up(CLI::App& app, Options& options, const char* doc) {
  app.add_option("--warm-up", options.warm_up, doc)
      ->type_name("N")
      ->check(CLI::Range(0, kMostSteps));
}

void add_steps(CLI::App& app, Options& options) {
  app.add_option("--steps", options.steps, "steps that are measured [5]")
      ->type_name("N")
      ->check(CLI::Range(1, kMostSteps));
  add_warm_up(app, options, "steps before them [1]");
}

void add_budget(CLI::App& app, Seconds& budget, const char* doc) {
  app.add_option_function<std::string>(
         "--budget", [&budget](const std::string& text) { budget = parse_seconds(text).value; },
         doc)
      ->type_name("TIME")
      ->check(CLI::Validator(budget_problem, ""));
}

void add_rehearsal(CLI::App& app, Options& options) {
  constexpr int kMostRounds = 100;
  add_budget(app, options.rehearsal.budget, "time to calibrate for, all rounds together [30s]");
  app.add_option("--rounds", options.rehearsal.rounds, "turns of calibration and steps [2]")
      ->type_name("N")
      ->check(CLI::Range(1, kMostRounds));
  app.add_option("--steps", options.rehearsal.steps, "steps that are measured, in all rounds [9]")
      ->type_name("N")
      ->check(CLI::Range(1, kMostSteps));
  add_warm_up(app, options, "steps before them in every round [1]");
}

void add_emulate(CLI::App& app, Options& o, const char* doc) {
  app.add_option("--emulate", o.emulate, doc)->type_name("PROFILE")->check(CLI::ExistingFile);
}

void add_calibration(CLI::App& app, Options& options) {
  app.add_option("WORDS", options.words, "`show PROFILE` prints what a profile knows")
      ->type_name("");
  app.add_option("--for", options.scenarios, "scenarios whose kernels are measured first")
      ->type_name("S.yaml");
  add_budget(app, options.budget, "time to measure for [60s]");
  app.add_option("-o,--output", options.output, "the profile to write")->type_name("PATH");
  add_emulate(app, options,
              "measure transfers alone, between ranks that rest meanwhile; kernels are this "
              "profile's: for run --emulate");
  app.add_option("--samples", options.samples,
                 "keep samples here, to go on after an interruption [none]")
      ->type_name("PATH");
  app.add_option("--seed", options.seed, "of contents, grid and what is held out [1]")
      ->type_name("N")
      ->check(CLI::Validator(seed_problem, ""));
}

struct OptionRow {
  Option option;
  void (*add)(CLI::App& app, Options& options);
};

constexpr OptionRow kOptionRows[] = {
    {Option::file,
     [](CLI::App& app, Options& o) {
       app.add_option_function<std::string>(
              "FILE", [&o](const std::string& path) { o.paths = {path}; },
              "a scenario, or a set of them")
           ->type_name("")
           ->required();
     }},
    {Option::paths,
     [](CLI::App& app, Options& o) {
       app.add_option("PATH", o.paths, "scenarios, sets, and folders of them")
           ->type_name("")
           ->required();
     }},
    {Option::json,
     [](CLI::App& app, Options& o) {
       app.add_flag("--json", o.json, "the same as data: one JSON document");
     }},
    {Option::id,
     [](CLI::App& app, Options& o) {
       app.add_option("--id", o.id, "one scenario of a set [all, in order]")->type_name("ID");
     }},
    {Option::trace,
     [](CLI::App& app, Options& o) {
       app.add_option("--trace", o.trace, "write the step to this file, for Perfetto")
           ->type_name("PATH")
           ->check(CLI::Validator(trace_problem, ""));
     }},
    {Option::seed,
     [](CLI::App& app, Options& o) {
       app.add_option("--seed", o.seed, "of the draws [1]")
           ->type_name("N")
           ->check(CLI::Validator(seed_problem, ""));
     }},
    {Option::draws,
     [](CLI::App& app, Options& o) {
       app.add_option("--draws", o.draws, "draws for the step time's interval; 0: none [32]")
           ->type_name("N")
           ->check(CLI::Validator(draws_problem, ""));
     }},
    {Option::jitter,
     [](CLI::App& app, Options& o) {
       app.add_option("--jitter", o.jitter,
                      "deviation of each kernel and transfer from call to call, as a fraction, for "
                      "percentiles of the step time [the profile's]")
           ->type_name("FRACTION")
           ->check(CLI::Range(0.0, kMostJitter));
     }},
    {Option::steps, add_steps},
    {Option::rehearsal, add_rehearsal},
    {Option::hang_after,
     [](CLI::App& app, Options& o) {
       app.add_option("--hang-after", o.hang_after_s,
                      "seconds without a finished op after which a run has hung [60]")
           ->type_name("S")
           ->check(CLI::Range(0.1, 86400.0))
           ->check([](const std::string& text) {
             return text.find_first_of("nN") == std::string::npos ? "" : "not a number of seconds";
           });
     }},
    {Option::verify,
     [](CLI::App& app, Options& o) {
       app.add_flag(
           "--verify", o.verify,
           "prove instead of measure: the plan against one device, exact, in fp64 and fp32");
     }},
    {Option::emulate,
     [](CLI::App& app, Options& o) {
       add_emulate(app, o,
                   "kernels only take the times this profile gives them: for more ranks than "
                   "cores, and for transfers and schedules by themselves");
     }},
    {Option::view, add_view},
    {Option::two_steps,
     [](CLI::App& app, Options& o) {
       const auto add = [&](const char* name, const char* doc) {
         app.add_option_function<std::string>(
                name, [&o](const std::string& path) { o.paths.push_back(path); }, doc)
             ->type_name("")
             ->required();
       };
       add("A", "what simulate --json or a run wrote, or a scenario: the reference");
       add("B", "the same, for what is compared with it");
     }},
    {Option::limits, add_limits},
    {Option::trace_sides, add_trace_sides},
    {Option::calibration, add_calibration},
};

void add_options(CLI::App& app, const Verb& verb, Options& options) {
  for (const Option option : verb.options) {
    for (const OptionRow& row : kOptionRows) {
      if (row.option == option) row.add(app, options);
    }
  }
}

/// CLI11 would call a misspelt verb an unexpected argument.
void check_verb(std::span<const Verb> verbs, int argc, const char* const* argv) {
  std::vector<std::string_view> names;
  for (const Verb& verb : verbs) names.emplace_back(verb.name);
  if (argc < 2) refuse("no verb", "one of: " + join_names(names) + "; windtunnel --help");
  const std::string_view word = argv[1];
  if (word == "-h" || word == "--help" || word == "--version") return;
  if (std::find(names.begin(), names.end(), word) != names.end()) return;
  const auto near = nearest_name(word, names);
  refuse("no verb `" + std::string(word) + "`",
         near ? "did you mean `" + *near + "`?" : "one of: " + join_names(names));
}

}  // namespace

std::variant<Command, Help> parse_command_line(std::span<const Verb> verbs, int argc,
                                               const char* const* argv) {
  check_verb(verbs, argc, argv);
  CLI::App app(
      "A wind tunnel for training runs: will it fit, how long is a step, where does the\n"
      "time go?",
      "windtunnel");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  app.get_formatter()->column_width(28);
  app.get_formatter()->label("SUBCOMMAND", "VERB");
  app.get_formatter()->label("REQUIRED", "");
  app.footer(
      "windtunnel VERB --help tells more. Standard output is the result, standard error\n"
      "diagnostics and progress. Exit status: 0 ok, 1 does not fit or over a limit, 2 bad usage\n"
      "or input, 3 needed software or hardware missing, 4 a rank died or hung, 70 a bug of "
      "ours.\n");
  Command command;
  for (const Verb& verb : verbs) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.doc);
    sub->group("Verbs");
    sub->footer(std::string(verb.details) + "\n");
    add_options(*sub, verb, command.options);
    sub->callback([&command, &verb] { command.verb = &verb; });
  }
  try {
    app.parse(argc, argv);
    const CLI::App& verb = *app.get_subcommands().front();
    if (command.verb->has(Option::view)) check_view(verb);
    if (command.verb->has(Option::limits)) check_limits(verb);
    if (command.verb->has(Option::trace_sides)) check_trace_sides(verb);
  } catch (const CLI::Success& wanted) {  // --help, --version
    std::ostringstream out, err;
    app.exit(wanted, out, err);
    return Help{out.str()};
  } catch (const CLI::ParseError& error) {
    const std::string verb = argc > 1 && argv[1][0] != '-' ? std::string(" ") + argv[1] : "";
    refuse(error.what(), "windtunnel" + verb + " --help");
  }
  return command;
}

}  // namespace windtunnel
