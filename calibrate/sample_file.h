#pragma once
// The samples of a calibration as they are taken: JSON, one a line, each written out at once.
//
// A calibration that was interrupted is taken up where it stopped: what stands in the file is not
// measured again. The first line names the machine and the software; a file of others is refused. A
// last line that was not finished is dropped; anything else that is torn is an error.

#include <set>
#include <string>
#include <vector>

#include "calibrate/sample.h"

namespace windtunnel {

class SampleFile {
 public:
  /// Reads what is there, or begins the file. An empty path keeps samples in memory alone. Throws
  /// InputError.
  SampleFile(std::string path, const std::string& machine);

  const std::vector<Sample>& samples() const { return samples_; }
  bool holds(const Sample& sample) const { return keys_.contains(key_of(sample)); }

  /// At the end of the file, before it returns. A key that is there already is left as it is.
  /// Throws InputError: disk full.
  void add(const Sample& sample);

 private:
  void read(const std::string& text, const std::string& machine);
  void append(const std::string& line);

  std::string path_;
  std::vector<Sample> samples_;
  std::set<std::string> keys_;
};

}  // namespace windtunnel
