#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

// Compresses a record against an earlier one, of which it repeats most bytes.
namespace memscope::recording {

class Compressor {
  public:
    Compressor();
    // `reference`: bytes that the decompressor will have, or empty.
    std::string compress(std::string_view bytes, std::string_view reference);

  private:
    struct Free {
        void operator()(ZSTD_CCtx_s* context) const;
    };
    std::unique_ptr<ZSTD_CCtx_s, Free> context_;
};

class Decompressor {
  public:
    Decompressor();
    // An error if the bytes are damaged, or if the result would have more than `most` bytes.
    Result<std::string> decompress(std::string_view bytes, std::string_view reference, std::size_t most);

  private:
    struct Free {
        void operator()(ZSTD_DCtx_s* context) const;
    };
    std::unique_ptr<ZSTD_DCtx_s, Free> context_;
};

}  // namespace memscope::recording
