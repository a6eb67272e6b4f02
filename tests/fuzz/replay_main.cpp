// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target on every file of a folder, and on 2,000 inputs made from these by flipping, cutting, repeating and
// joining, from a fixed seed. A crash, a sanitizer's report or an abort() fails the test.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr int kMutants = 2000;

void run(const std::string& input) {
  // A copy of its own, so that a sanitizer sees any step over its end.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  (void)LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::string mutate(const std::vector<std::string>& corpus, std::mt19937& random) {
  std::string input = corpus[random() % corpus.size()];
  for (unsigned i = 0; i <= random() % 6; ++i) {
    const size_t at = input.empty() ? 0 : random() % input.size();
    switch (random() % 5) {
      case 0:
        if (!input.empty()) {
          input[at] = static_cast<char>(random());
        }
        break;
      case 1:
        input.resize(at);
        break;
      case 2:
        input.insert(at, input.substr(at, random() % 16));
        break;
      case 3:
        input.erase(at, random() % 16);
        break;
      default: {
        const std::string& other = corpus[random() % corpus.size()];
        input = input.substr(0, at) + other.substr(other.empty() ? 0 : random() % other.size());
        break;
      }
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> corpus = {""};
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  if (corpus.size() < 2) {
    (void)std::fprintf(stderr, "usage: %s CORPUS-FOLDER (with at least one file)\n", argv[0]);
    return 2;
  }
  std::mt19937 random(1);
  for (const std::string& input : corpus) {
    run(input);
  }
  for (int i = 0; i < kMutants; ++i) {
    run(mutate(corpus, random));
  }
  std::printf("%zu inputs and %d mutants\n", corpus.size(), kMutants);
  return 0;
}
