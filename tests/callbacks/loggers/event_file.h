#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "callbacks/loggers/event_record.h"

namespace levin {

/// An event of TensorBoard, as far as the tests look at it.
struct ReadEvent {
  double time = 0;
  int64_t step = 0;
  std::string version;
  bool starts_session = false;
  std::map<std::string, float> scalars;
  std::map<std::string, std::string> messages;  // tag -> histogram or image message, or metadata of a plugin
};

/// The payloads of the records of an event file. Fails on a wrong checksum or a torn record.
inline std::vector<std::string> read_records(std::string_view file) {
  std::vector<std::string> payloads;
  while (!file.empty()) {
    uint64_t length = 0;
    uint32_t length_crc = 0;
    uint32_t payload_crc = 0;
    if (file.size() >= 12) std::memcpy(&length, file.data(), 8);
    if (file.size() < 12 || file.size() - 12 < length + 4) {
      ADD_FAILURE() << "torn record";
      return payloads;
    }
    std::memcpy(&length_crc, file.data() + 8, 4);
    std::memcpy(&payload_crc, file.data() + 12 + length, 4);
    EXPECT_EQ(length_crc, masked_crc32c(file.substr(0, 8)));
    EXPECT_EQ(payload_crc, masked_crc32c(file.substr(12, length)));
    payloads.emplace_back(file.substr(12, length));
    file.remove_prefix(16 + length);
  }
  return payloads;
}

inline void read_value(protozero::pbf_reader value, ReadEvent& event) {
  std::string tag;
  while (value.next()) {
    switch (value.tag()) {
      case 1: tag = value.get_string(); break;
      case 2: event.scalars[tag] = value.get_float(); break;
      case 4:
      case 5:
      case 9: event.messages[tag] = value.get_string(); break;
      default: value.skip();
    }
  }
}

inline ReadEvent read_event(const std::string& payload) {
  ReadEvent event;
  protozero::pbf_reader reader(payload);
  while (reader.next()) {
    switch (reader.tag()) {
      case 1: event.time = reader.get_double(); break;
      case 2: event.step = reader.get_int64(); break;
      case 3: event.version = reader.get_string(); break;
      case 5: {
        protozero::pbf_reader summary = reader.get_message();
        while (summary.next(1)) read_value(summary.get_message(), event);
        break;
      }
      case 7: {
        protozero::pbf_reader session = reader.get_message();
        event.starts_session = session.next(1) && session.get_enum() == 1;
        break;
      }
      default: reader.skip();
    }
  }
  return event;
}

inline std::vector<ReadEvent> read_events(std::string_view file) {
  std::vector<ReadEvent> events;
  for (const std::string& payload : read_records(file)) events.push_back(read_event(payload));
  return events;
}

}  // namespace levin
