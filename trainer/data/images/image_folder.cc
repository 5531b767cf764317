#include "trainer/data/images/image_folder.h"

#include <ATen/ops/full.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "trainer/core/error.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kReadable = {".png", ".jpg", ".jpeg"};
constexpr std::array<std::string_view, 5> kUnreadable = {".gif", ".bmp", ".webp", ".tif", ".tiff"};

std::string lower_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

template <size_t N>
bool contains(const std::array<std::string_view, N>& extensions, const std::string& extension) {
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

bool is_image(const fs::path& path) {
  const std::string extension = lower_extension(path);
  if (contains(kUnreadable, extension)) {
    throw DataError(
        fmt::format("[ImageFolder] {} is an image of a kind that cannot be read. Convert it to PNG or JPEG, or move it "
                    "away.",
                    path.string()));
  }
  return contains(kReadable, extension);
}

void check_root(const fs::path& root) {
  std::error_code ignored;
  if (!fs::is_directory(root, ignored)) {
    throw DataError(fmt::format("[ImageFolder] there is no folder {}. It must hold the images.", root.string()));
  }
}

[[noreturn]] void throw_unreadable(const fs::filesystem_error& error) {
  throw DataError(fmt::format("[ImageFolder] cannot list {}: {}.", error.path1().string(), error.code().message()));
}

/// The images below `folder`.
std::vector<fs::path> find_images(const fs::path& folder) {
  std::vector<fs::path> found;
  try {
    for (auto it = fs::recursive_directory_iterator(folder, fs::directory_options::follow_directory_symlink);
         it != fs::recursive_directory_iterator(); ++it) {
      if (is_hidden(it->path())) {
        it.disable_recursion_pending();
      } else if (!it->is_directory() && is_image(it->path())) {
        found.push_back(it->path());
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw_unreadable(error);
  }
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    return std::make_pair(a.parent_path().string(), a.filename().string()) <
           std::make_pair(b.parent_path().string(), b.filename().string());
  });
  return found;
}

}  // namespace

std::vector<std::string> list_classes(const fs::path& root) {
  check_root(root);
  std::vector<std::string> classes;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
      if (entry.is_directory() && !is_hidden(entry.path())) classes.push_back(entry.path().filename().string());
    }
  } catch (const fs::filesystem_error& error) {
    throw_unreadable(error);
  }
  if (classes.empty()) {
    throw DataError(fmt::format("[ImageFolder] {} has no class: it must have one folder for each, as {}/cat/1.png.",
                                root.string(), root.string()));
  }
  std::sort(classes.begin(), classes.end());
  return classes;
}

ImageFolder::ImageFolder(const fs::path& root, ImageFolderOptions options) : root_(root), options_(std::move(options)) {
  check_root(root);
  if (!options_.has_classes) {
    options_.classes.clear();
    add_files("", -1);
    return;
  }
  const std::vector<std::string> folders = list_classes(root);
  if (options_.classes.empty()) options_.classes = folders;
  const std::vector<std::string>& classes = options_.classes;
  for (const std::string& folder : folders) {
    if (std::find(classes.begin(), classes.end(), folder) == classes.end()) {
      throw DataError(fmt::format("[ImageFolder] {} is the folder of none of the classes, which are: {}.",
                                  (root / folder).string(), fmt::join(classes, ", ")));
    }
  }
  for (size_t label = 0; label < classes.size(); ++label) {
    const bool has_folder = std::binary_search(folders.begin(), folders.end(), classes[label]);
    if (has_folder) add_files(classes[label], static_cast<int64_t>(label));
  }
}

void ImageFolder::add_files(const std::string& folder, int64_t label) {
  const std::vector<fs::path> found = find_images(root_ / folder);
  if (found.empty()) {
    throw DataError(fmt::format("[ImageFolder] {} has no image (a file whose name ends in {}).",
                                (root_ / folder).string(), fmt::join(kReadable, ", ")));
  }
  for (const fs::path& file : found) files_.push_back({file.lexically_relative(root_).string(), label});
}

Batch ImageFolder::get_sample(int64_t index, RandomStream& /*random*/) const {
  return Batch::of(decode_image(path(index), options_.decode), at::full({}, label(index), at::kLong));
}

}  // namespace levin
