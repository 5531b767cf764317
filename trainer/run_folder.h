#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// The folder of one run, <root>/runs/<experiment>/version_<n>. Until keep() is called it is provisional: the
/// destructor removes it with everything in it, so that a run that fails before its first step leaves nothing behind.
class RunFolder {
 public:
  /// Makes the folder with the next free version and writes config.yaml into it.
  /// Errors: ConfigError if it cannot be made or written; nothing is left then.
  RunFolder(const std::filesystem::path& root, const std::string& experiment, const std::string& config_yaml);
  /// Goes on in a folder that is there; it is kept.
  explicit RunFolder(std::filesystem::path existing) : path_(std::move(existing)), is_kept_(true) {}
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// The run has got somewhere: the folder stays.
  void keep() { is_kept_ = true; }
  bool is_kept() const { return is_kept_; }

 private:
  void make_parents(const std::filesystem::path& folder);
  void make_version(const std::filesystem::path& experiment_dir);
  void write_config(const std::string& config_yaml) const;
  void remove() noexcept;

  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_parents_;  // outermost first
  bool is_kept_ = false;
};

/// The versions of an experiment that exist, newest first.
std::vector<std::filesystem::path> run_versions(const std::filesystem::path& root, const std::string& experiment);

}  // namespace levin
