#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "trainer/core/files/file_writer.h"

namespace levin {

/// The files of a folder and their digests, by name.
using Manifest = std::map<std::string, FileDigest>;

/// Name of the file in which a folder's manifest is kept. It is written last, so a folder without it is incomplete.
inline constexpr const char* kManifestName = "manifest.json";

/// {"format": 1, "files": {"<name>": {"size": <bytes>, "xxh3_64": "<hex>"}}}
std::string manifest_to_json(const Manifest& manifest);

/// Reads a folder's manifest, without looking at the files. Errors: CheckpointError if the folder or the manifest is
/// missing, or the manifest is not as manifest_to_json writes it.
Manifest read_manifest(const std::filesystem::path& folder);

/// Checks every file of the manifest against its digest; files that it does not list are ignored. Returns the manifest.
/// Errors: CheckpointError as read_manifest, and one that names every file that is missing, has the wrong size or the
/// wrong checksum.
Manifest verify_folder(const std::filesystem::path& folder);

}  // namespace levin
