#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/data/images/decode_image.h"

namespace levin {

/// What an ImageFolder reads.
struct ImageFolderOptions {
  DecodeOptions decode = {};
  /// The classes in the order of their labels, where they are known, as those of the training data. Empty: the folders
  /// there are, sorted by name.
  std::vector<std::string> classes = {};
  /// False: the images are anywhere below the root, and their label is -1.
  bool has_classes = true;
};

/// Images in one folder for each class: root/cat/1.png, root/cat/more/2.jpg, root/dog/1.jpeg. A sample is the list
/// [image uint8 [C, H, W], label int64 []]. Images are read when they are asked for, and may differ in size: a
/// TransformedDataset brings them to one.
///
/// A file is an image if its name ends in .png, .jpg or .jpeg, in whatever case; what it is, its content says. Names
/// that begin with a dot are left out, links are followed. The order is that of classes, then folders, then names, each
/// byte by byte (as torchvision's ImageFolder), so that an index stands for the same file on every machine.
class ImageFolder final : public SampleDataset {
 public:
  /// Lists the files. Errors: DataError if the root is missing, has no class or no image; if a class has no image (but
  /// where options.classes names it and it has no folder); if a folder is none of options.classes; or if there is an
  /// image of a kind that cannot be read (.gif, .bmp, .webp, .tif, .tiff), which would be missed in silence.
  explicit ImageFolder(const std::filesystem::path& root, ImageFolderOptions options = {});

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  /// Errors: DataError, as of decode_image().
  Batch get_sample(int64_t index, RandomStream& random) const override;

  /// Label i is the class classes()[i].
  const std::vector<std::string>& classes() const { return options_.classes; }
  std::filesystem::path path(int64_t index) const { return root_ / files_[static_cast<size_t>(index)].name; }
  int64_t label(int64_t index) const { return files_[static_cast<size_t>(index)].label; }

 private:
  struct File {
    std::string name;  // from the root
    int64_t label;
  };
  void add_files(const std::string& folder, int64_t label);

  std::filesystem::path root_;
  ImageFolderOptions options_;
  std::vector<File> files_;
};

/// The names of the class folders in `root`, sorted. Errors: DataError if it cannot be read, or has none.
std::vector<std::string> list_classes(const std::filesystem::path& root);

}  // namespace levin
