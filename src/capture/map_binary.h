/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the binary form of a map file (MAP_BINARY.md): `stackmap map NAME --format bin`. For C11 and C++, with nothing
 * else of this project.
 *
 *   struct stackmap_map_header header;
 *   struct stackmap_map_cursor cursor = {0, 0, 0, 0};
 *   struct stackmap_map_record record;
 *   int status = stackmap_map_open(buffer, length, &header);
 *   if (status == 0) {
 *     while ((status = stackmap_map_next(buffer, length, &header, &cursor, &record)) == 1) {
 *       for (uint32_t i = 0; i < record.depth; i++) use(stackmap_map_frame(&record, i));
 *     }
 *   }
 *   if (status < 0) damaged(status);
 *
 * Nothing is allocated, and no byte outside of the buffer is read, whatever it holds. The buffer needs no alignment and
 * must stay as it is while it is read. Thread-safe: there is no state but the caller's.
 */
#ifndef STACKMAP_MAP_BINARY_H
#define STACKMAP_MAP_BINARY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#define STACKMAP_MAP_BYTES(pointer) static_cast<const unsigned char*>(pointer)
extern "C" {
#else
#define STACKMAP_MAP_BYTES(pointer) ((const unsigned char*)(pointer))
#endif

#define STACKMAP_MAP_MAGIC "STKMAPB1"
#define STACKMAP_MAP_VERSION 1U
#define STACKMAP_MAP_HEADER_BYTES 72U
#define STACKMAP_MAP_RECORD_BYTES 16U
#define STACKMAP_MAP_MAX_REF 2147483647U
/* Flags: capacity, successes and fallbacks are what the map itself counted. Unknown flags are to be ignored. */
#define STACKMAP_MAP_COUNTED 1U

enum stackmap_map_error {
  STACKMAP_MAP_CUT = -1,      /* the buffer ends before the file does */
  STACKMAP_MAP_NO_MAP = -2,   /* another magic */
  STACKMAP_MAP_LATER = -3,    /* of a later version */
  STACKMAP_MAP_CHECKSUM = -4, /* a checksum is wrong */
  STACKMAP_MAP_DAMAGED = -5   /* the contents contradict the format, or there are bytes behind the end */
};

struct stackmap_map_header {
  uint32_t header_size; /* bytes; the records follow */
  uint32_t version;
  uint32_t generation;
  uint32_t capacity; /* stacks that the map can hold; 0: not known */
  uint32_t entries;  /* records in this file */
  uint32_t max_depth;
  uint64_t successes;
  uint64_t fallbacks;
  uint64_t frames_total; /* of all records */
  uint32_t flags;
  uint32_t crc; /* of everything after the header */
};

struct stackmap_map_record {
  uint32_t slot;
  uint32_t ref;
  uint32_t depth;
  const unsigned char* frames; /* see stackmap_map_frame() */
};

/* Where the next record is. All zero at the start. */
struct stackmap_map_cursor {
  size_t offset;
  uint64_t frames;
  uint32_t records;
  uint32_t last_slot;
};

static inline uint32_t stackmap_map_load32(const unsigned char* from) {
  uint32_t value = 0;
  unsigned i = 4;
  while (i-- > 0) {
    value = value << 8 | from[i];
  }
  return value;
}

static inline uint64_t stackmap_map_load64(const unsigned char* from) {
  uint64_t value = stackmap_map_load32(from + 4);
  return value << 32 | stackmap_map_load32(from);
}

/* CRC-32C (Castagnoli), as in RFC 3720 appendix B.4; `crc` is that of the bytes before, 0 at the start. */
static inline uint32_t stackmap_map_crc32c(const void* bytes, size_t length, uint32_t crc) {
  static const uint32_t kNibbles[16] = {0x00000000U, 0x105ec76fU, 0x20bd8edeU, 0x30e349b1U, 0x417b1dbcU, 0x5125dad3U,
                                        0x61c69362U, 0x7198540dU, 0x82f63b78U, 0x92a8fc17U, 0xa24bb5a6U, 0xb21572c9U,
                                        0xc38d26c4U, 0xd3d3e1abU, 0xe330a81aU, 0xf36e6f75U};
  const unsigned char* at = STACKMAP_MAP_BYTES(bytes);
  crc = ~crc;
  while (length-- > 0) {
    crc ^= *at++;
    crc = crc >> 4 ^ kNibbles[crc & 15U];
    crc = crc >> 4 ^ kNibbles[crc & 15U];
  }
  return ~crc;
}

/* Reads the header and checks both checksums and the length. 0, or a stackmap_map_error; `header` is filled on 0. */
static inline int stackmap_map_open(const void* buffer, size_t length, struct stackmap_map_header* header) {
  const unsigned char* bytes = STACKMAP_MAP_BYTES(buffer);
  uint64_t entries;
  uint64_t rest;
  uint32_t crc;
  if (length < 16) {
    return STACKMAP_MAP_CUT;
  }
  if (memcmp(bytes, STACKMAP_MAP_MAGIC, 8) != 0) {
    return STACKMAP_MAP_NO_MAP;
  }
  header->header_size = stackmap_map_load32(bytes + 8);
  header->version = stackmap_map_load32(bytes + 12);
  if (header->version != STACKMAP_MAP_VERSION) {
    return STACKMAP_MAP_LATER;
  }
  if (header->header_size < STACKMAP_MAP_HEADER_BYTES) {
    return STACKMAP_MAP_DAMAGED;
  }
  if (header->header_size > length) {
    return STACKMAP_MAP_CUT;
  }
  crc = stackmap_map_crc32c(bytes, 64, 0);
  crc = stackmap_map_crc32c(bytes + 68, header->header_size - 68, crc);
  if (crc != stackmap_map_load32(bytes + 64)) {
    return STACKMAP_MAP_CHECKSUM;
  }
  header->generation = stackmap_map_load32(bytes + 16);
  header->capacity = stackmap_map_load32(bytes + 20);
  header->entries = stackmap_map_load32(bytes + 24);
  header->max_depth = stackmap_map_load32(bytes + 28);
  header->successes = stackmap_map_load64(bytes + 32);
  header->fallbacks = stackmap_map_load64(bytes + 40);
  header->frames_total = stackmap_map_load64(bytes + 48);
  header->flags = stackmap_map_load32(bytes + 56);
  header->crc = stackmap_map_load32(bytes + 60);
  /* 2^32 records of 16 bytes do not overflow; as many frames as 64 bits can count would. */
  if (header->frames_total > UINT64_MAX / 16) {
    return STACKMAP_MAP_DAMAGED;
  }
  entries = header->entries;
  rest = 8 * header->frames_total + 16 * entries;
  if (rest != length - header->header_size) {
    return rest > length - header->header_size ? STACKMAP_MAP_CUT : STACKMAP_MAP_DAMAGED;
  }
  if (stackmap_map_crc32c(bytes + header->header_size, length - header->header_size, 0) != header->crc) {
    return STACKMAP_MAP_CHECKSUM;
  }
  return 0;
}

/*
 * The next record, by slot. 1: there is one; 0: that was all, and it is what the header says; or a stackmap_map_error.
 * `header` is what stackmap_map_open() filled from the same buffer.
 */
static inline int stackmap_map_next(const void* buffer, size_t length, const struct stackmap_map_header* header,
                                    struct stackmap_map_cursor* cursor, struct stackmap_map_record* record) {
  const unsigned char* bytes = STACKMAP_MAP_BYTES(buffer);
  size_t depth;
  if (cursor->records == 0) {
    cursor->offset = header->header_size;
  }
  if (cursor->offset > length) {
    return STACKMAP_MAP_DAMAGED;
  }
  if (cursor->offset == length) {
    return cursor->records == header->entries && cursor->frames == header->frames_total ? 0 : STACKMAP_MAP_DAMAGED;
  }
  if (cursor->records == header->entries || length - cursor->offset < STACKMAP_MAP_RECORD_BYTES) {
    return STACKMAP_MAP_DAMAGED;
  }
  bytes += cursor->offset;
  record->slot = stackmap_map_load32(bytes);
  record->ref = stackmap_map_load32(bytes + 4);
  record->depth = stackmap_map_load32(bytes + 8);
  record->frames = bytes + STACKMAP_MAP_RECORD_BYTES;
  if (stackmap_map_load32(bytes + 12) != 0 || record->ref > STACKMAP_MAP_MAX_REF || record->depth > header->max_depth ||
      record->depth > (length - cursor->offset - STACKMAP_MAP_RECORD_BYTES) / 8 ||
      (cursor->records != 0 && record->slot <= cursor->last_slot)) {
    return STACKMAP_MAP_DAMAGED;
  }
  depth = record->depth;
  cursor->offset += STACKMAP_MAP_RECORD_BYTES + 8 * depth;
  cursor->frames += record->depth;
  cursor->records += 1;
  cursor->last_slot = record->slot;
  return 1;
}

/* Frame `i` of a record, below its depth: a return address; 0 is the innermost. */
static inline uint64_t stackmap_map_frame(const struct stackmap_map_record* record, uint32_t i) {
  const size_t index = i;
  return stackmap_map_load64(record->frames + 8 * index);
}

#ifdef __cplusplus
}
#endif

#endif
