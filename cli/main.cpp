#include "cli/windtunnel.h"

int main(int argc, char** argv) {
  return windtunnel::run(windtunnel::verb_table(), argc, argv);
}
