#include "trainer/config/yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr int kMaxDepth = 100;

/// Turns yaml-cpp's nodes into ConfigValues, and collects the keys that stand twice: yaml-cpp keeps them silently.
class Converter {
 public:
  Converter(std::string source, bool has_lines) : source_(std::move(source)), has_lines_(has_lines) {}

  /// depth: of lists and maps around the node. An anchor that contains itself would have no end.
  ConfigValue convert(const YAML::Node& node, int depth = 0) {
    ConfigValue value;
    value.location = locate(node);
    if (depth > kMaxDepth) {
      throw ConfigError(
          fmt::format("{}: lists and maps are nested deeper than {} levels.", value.location.to_string(), kMaxDepth));
    }
    if (node.IsScalar()) {
      value.kind = ConfigValue::Kind::kScalar;
      value.scalar = node.Scalar();
      value.is_quoted = node.Tag() == "!";
    } else if (node.IsSequence()) {
      value.kind = ConfigValue::Kind::kList;
      for (const YAML::Node& item : node) value.items.push_back(convert(item, depth + 1));
    } else if (node.IsMap()) {
      value.kind = ConfigValue::Kind::kMap;
      for (const auto& pair : node) add_entry(value, pair.first, pair.second, depth + 1);
    }
    return value;
  }

  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void add_entry(ConfigValue& map, const YAML::Node& key, const YAML::Node& value, int depth) {
    const ConfigLocation where = locate(key);
    if (!key.IsScalar()) {
      problems_.push_back(fmt::format("{}: a key must be a plain text", where.to_string()));
      return;
    }
    for (const ConfigValue::Entry& entry : map.entries) {
      if (entry.key == key.Scalar()) {
        problems_.push_back(fmt::format("{}: the key \"{}\" stands twice, first in line {}", where.to_string(),
                                        entry.key, entry.location.line));
        return;
      }
    }
    map.entries.push_back({.key = key.Scalar(), .location = where, .value = convert(value, depth)});
  }

  ConfigLocation locate(const YAML::Node& node) const {
    return {.source = source_, .line = has_lines_ ? node.Mark().line + 1 : 0};
  }

  std::string source_;
  bool has_lines_;
  std::vector<std::string> problems_;
};

void emit(YAML::Emitter& out, const ConfigValue& value) {
  switch (value.kind) {
    case ConfigValue::Kind::kNull: out << YAML::Null; break;
    case ConfigValue::Kind::kScalar:
      if (value.is_quoted) out << YAML::DoubleQuoted;
      out << value.scalar;
      break;
    case ConfigValue::Kind::kList: {
      bool is_short = true;
      for (const ConfigValue& item : value.items) is_short = is_short && item.is_scalar();
      if (is_short) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const ConfigValue& item : value.items) emit(out, item);
      out << YAML::EndSeq;
      break;
    }
    case ConfigValue::Kind::kMap:
      out << YAML::BeginMap;
      for (const ConfigValue::Entry& entry : value.entries) {
        out << YAML::Key << entry.key << YAML::Value;
        emit(out, entry.value);
      }
      out << YAML::EndMap;
      break;
  }
}

}  // namespace

ConfigValue parse_yaml(const std::string& text, const std::string& source, bool has_lines) {
  Converter converter(source, has_lines);
  ConfigValue value;
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) {
      throw ConfigError(fmt::format("{}: the file has {} YAML documents, separated by \"---\"; it must be one.", source,
                                    documents.size()));
    }
    if (!documents.empty()) value = converter.convert(documents.front());
  } catch (const YAML::Exception& error) {
    const ConfigLocation where{.source = source, .line = has_lines ? error.mark.line + 1 : 0};
    throw ConfigError(fmt::format("{}: this is not valid YAML: {}.", where.to_string(), error.msg));
  }
  if (!converter.problems().empty()) throw ConfigError(fmt::format("{}.", fmt::join(converter.problems(), ".\n")));
  return value;
}

ConfigValue load_yaml(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream file(path);
  std::ostringstream text;
  if (std::filesystem::is_directory(path))
    throw ConfigError(fmt::format("{} is a folder, not a YAML file.", path.string()));
  if (!file)
    throw ConfigError(fmt::format("cannot open the configuration {}: {}.", path.string(), std::strerror(errno)));
  text << file.rdbuf();
  return parse_yaml(text.str(), path.string());
}

std::string to_yaml(const ConfigValue& value) {
  YAML::Emitter out;
  emit(out, value);
  return std::string(out.c_str()) + "\n";
}

}  // namespace levin
