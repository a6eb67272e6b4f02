/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_binary.h from C11, alone. Without arguments: reads a small map that is written down here, and damaged ones. With
 * a file: prints it, a line a record and a line a frame.
 */
#include "capture/map_binary.h"

#include <stdio.h>
#include <stdlib.h>

/* Generation 1, capacity 4; slot 3, ref 2, depth 1: 0xffffffff81000010. The checksums are from a CRC-32C made by hand.
 */
static const unsigned char kSmall[] = {
    'S', 'T', 'K', 'M', 'A',  'P',  'B',  '1',  72,   0,    0,    0,    1, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0,
    8,   0,   0,   0,   2,    0,    0,    0,    0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
    0,   0,   0,   0,   0x75, 0x38, 0x11, 0xb6, 0x35, 0x0f, 0xb6, 0x9b, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0,
    0,   0,   0,   0,   0x10, 0,    0,    0x81, 0xff, 0xff, 0xff, 0xff};

static int read_map(const void* bytes, size_t length, FILE* out) {
  struct stackmap_map_header header;
  struct stackmap_map_cursor cursor = {0, 0, 0, 0};
  struct stackmap_map_record record;
  int status = stackmap_map_open(bytes, length, &header);
  if (status != 0) {
    return status;
  }
  while ((status = stackmap_map_next(bytes, length, &header, &cursor, &record)) == 1) {
    uint32_t i;
    if (out != NULL &&
        fprintf(out, "stack_id %lu gen %lu ref %lu depth %lu\n", (unsigned long)record.slot,
                (unsigned long)header.generation, (unsigned long)record.ref, (unsigned long)record.depth) < 0) {
      return -100;
    }
    for (i = 0; i < record.depth; i++) {
      const unsigned long long frame = stackmap_map_frame(&record, i);
      if (out != NULL && fprintf(out, " => 0x%llx\n", frame) < 0) {
        return -100;
      }
    }
  }
  return status;
}

static int self_test(void) {
  unsigned char bad[sizeof(kSmall)];
  size_t i;
  if (read_map(kSmall, sizeof(kSmall), stdout) != 0) {
    return 1;
  }
  for (i = 0; i < sizeof(kSmall); i++) {
    if (read_map(kSmall, i, NULL) != STACKMAP_MAP_CUT) {
      return 2;
    }
    memcpy(bad, kSmall, sizeof(bad));
    bad[i] ^= 0x10;
    if (read_map(bad, sizeof(bad), NULL) >= 0) {
      return 3;
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  static unsigned char bytes[1 << 24];
  size_t length;
  FILE* file;
  if (argc < 2) {
    return self_test();
  }
  file = fopen(argv[1], "rb");
  if (file == NULL) {
    perror(argv[1]);
    return 2;
  }
  length = fread(bytes, 1, sizeof(bytes), file);
  (void)fclose(file);
  return read_map(bytes, length, stdout) == 0 ? 0 : 1;
}
