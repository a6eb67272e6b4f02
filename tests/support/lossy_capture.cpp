// SPDX-License-Identifier: Apache-2.0
// lossy_capture FILE: writes the capture of a recording in which everything that can be counted happened.
#include <cstdio>

#include "support/lossy_recording.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    (void)std::fprintf(stderr, "usage: lossy_capture FILE\n");
    return 2;
  }
  auto file = stackmap::create_file(argv[1], stackmap::Create::kNew);
  if (!file) {
    (void)std::fprintf(stderr, "%s\n", file.error().message().c_str());
    return 1;
  }
  stackmap_test::LossyRecording recording(std::move(file).value());
  recording.play();
  const auto closed = recording.recorder().close(recording.kernel());
  if (!closed) {
    (void)std::fprintf(stderr, "%s\n", closed.error().message().c_str());
    return 1;
  }
  return 0;
}
