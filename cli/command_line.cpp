#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "core/diagnostics.h"
#include "core/nearest_name.h"

namespace windtunnel {

namespace {

constexpr const char* kVersion = "windtunnel 0.1.0";
// An interval needs a spread, which one draw has not; more than this many tell nothing new.
constexpr int kLeastDraws = 2, kMostDraws = 4096;

void add_view(CLI::App& app, Options& options) {
  const auto view = [&](const char* flag, PlanView which, const char* doc) {
    return app.add_flag_callback(
        flag, [&options, which] { options.view = which; }, doc);
  };
  CLI::Option* resolved =
      view("--resolved", PlanView::resolved, "every value of the plan and where it comes from");
  CLI::Option* ops = view("--ops", PlanView::ops, "the ops of one rank, one a line");
  CLI::Option* grid = view("--grid", PlanView::grid, "only the step x rank grid");
  app.add_option("--rank", options.rank, "whose ops [0]")
      ->check(CLI::NonNegativeNumber)
      ->needs(ops);
  resolved->excludes(ops)->excludes(grid);
  ops->excludes(grid);
  for (CLI::Option* each : {resolved, ops, grid}) each->excludes(app.get_option("--json"));
}

std::string draws_problem(const std::string& text) {
  int draws = 0;
  if (!CLI::detail::lexical_cast(text, draws)) return "is no number: " + text;
  if (draws == 0 || (draws >= kLeastDraws && draws <= kMostDraws)) return "";
  return "must be 0 (no interval) or from " + std::to_string(kLeastDraws) + " to " +
         std::to_string(kMostDraws);
}

struct OptionRow {
  Option option;
  void (*add)(CLI::App& app, Options& options);
};

constexpr OptionRow kOptionRows[] = {
    {Option::file,
     [](CLI::App& app, Options& o) {
       app.add_option("FILE", o.paths, "a scenario, or a set of them")->required()->expected(1);
     }},
    {Option::paths,
     [](CLI::App& app, Options& o) {
       app.add_option("PATH", o.paths, "scenarios, sets, and folders of them")->required();
     }},
    {Option::json,
     [](CLI::App& app, Options& o) {
       app.add_flag("--json", o.json, "the same as data; an array for several scenarios");
     }},
    {Option::id,
     [](CLI::App& app, Options& o) {
       app.add_option("--id", o.id, "one scenario of a set [all, in order]");
     }},
    {Option::trace,
     [](CLI::App& app, Options& o) {
       app.add_option("--trace", o.trace, "write the step to this file, for Perfetto");
     }},
    {Option::seed,
     [](CLI::App& app, Options& o) { app.add_option("--seed", o.seed, "of the draws [1]"); }},
    {Option::draws,
     [](CLI::App& app, Options& o) {
       app.add_option("--draws", o.draws, "draws for the step time's interval; 0: none [32]")
           ->check(CLI::Validator(draws_problem, ""));
     }},
    {Option::view, add_view},
};

void add_options(CLI::App& app, const Verb& verb, Options& options) {
  for (const Option option : verb.options) {
    for (const OptionRow& row : kOptionRows) {
      if (row.option == option) row.add(app, options);
    }
  }
}

[[noreturn]] void refuse(std::string message, std::string hint) {
  throw InputError({{.position = {},
                     .message = std::move(message),
                     .hint = std::move(hint),
                     .source_line = ""}});
}

/// CLI11 would call a misspelt verb an unexpected argument.
void check_verb(int argc, const char* const* argv) {
  std::vector<std::string_view> names;
  for (const Verb& verb : verb_table()) names.emplace_back(verb.name);
  if (argc < 2) refuse("no verb", "one of: " + join_names(names) + "; windtunnel --help");
  const std::string_view word = argv[1];
  if (word.starts_with("-")) return;
  if (std::find(names.begin(), names.end(), word) != names.end()) return;
  const auto near = nearest_name(word, names);
  refuse("no verb `" + std::string(word) + "`",
         near ? "did you mean `" + *near + "`?" : "one of: " + join_names(names));
}

}  // namespace

std::variant<Command, Help> parse_command_line(int argc, const char* const* argv) {
  check_verb(argc, argv);
  CLI::App app(
      "A wind tunnel for training runs: will it fit, how long is a step, where does the "
      "time go?",
      "windtunnel");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  app.get_formatter()->column_width(28);
  app.footer(
      "\nwindtunnel VERB --help tells more. Standard output is the result, standard error\n"
      "diagnostics and progress. Exit status: 0 ok, 1 does not fit, 2 bad usage or input,\n"
      "3 needed software or hardware missing, 70 a bug of ours.");
  Command command;
  for (const Verb& verb : verb_table()) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.doc);
    sub->footer(std::string("\n") + verb.details);
    add_options(*sub, verb, command.options);
    sub->callback([&command, &verb] { command.verb = &verb; });
  }
  try {
    app.parse(argc, argv);
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
