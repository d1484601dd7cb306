// The images of a folder, decoded when they are asked for.
#pragma once

#include <memory>

#include "data/folder.h"
#include "data/image_set.h"
#include "data/jpeg.h"

namespace sadam::data {

/// Decoded images are kept where all of them together take no more than this, so that only the first epoch
/// decodes.
inline constexpr std::size_t kept_in_memory = std::size_t{4} << 30;

/// Every image is resized to `pixels` × `pixels`, whatever its shape was, as the experiments did.
std::shared_ptr<const ImageSet> folder_images(FolderPart part, std::int64_t classes, std::size_t pixels,
                                              std::size_t keep_up_to = kept_in_memory);

/// One file, read and decoded. The sentence of an Error begins with the path.
Picture decode_jpeg_file(const std::filesystem::path& path);

}  // namespace sadam::data
