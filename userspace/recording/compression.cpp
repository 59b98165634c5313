#include "recording/compression.h"

#include <algorithm>
#include <bit>
#include <new>
#include <stdexcept>
#include <zstd.h>

namespace memscope::recording {
namespace {

constexpr int kLevel = 3;

// The window must reach back over the whole reference: 2^10 to 2^27 bytes.
int window_log(std::size_t bytes) { return std::clamp(static_cast<int>(std::bit_width(bytes)), 10, 27); }

}  // namespace

void Compressor::Free::operator()(ZSTD_CCtx_s* context) const { ::ZSTD_freeCCtx(context); }
void Decompressor::Free::operator()(ZSTD_DCtx_s* context) const { ::ZSTD_freeDCtx(context); }

Compressor::Compressor() : context_(::ZSTD_createCCtx()) {
    if (!context_) throw std::bad_alloc();
}
Decompressor::Decompressor() : context_(::ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
    // References of more bytes than the default window are allowed, because a record can have 64 MiB.
    ::ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, 27);
}

std::string Compressor::compress(std::string_view bytes, std::string_view reference) {
    ZSTD_CCtx_s* context = context_.get();
    ::ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
    ::ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kLevel);
    ::ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log(bytes.size() + reference.size()));
    ::ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 0);  // the record has a checksum
    if (!reference.empty()) ::ZSTD_CCtx_refPrefix(context, reference.data(), reference.size());
    std::string out(::ZSTD_compressBound(bytes.size()), '\0');
    const std::size_t size = ::ZSTD_compress2(context, out.data(), out.size(), bytes.data(), bytes.size());
    if (::ZSTD_isError(size) != 0) throw std::runtime_error(::ZSTD_getErrorName(size));  // out of memory
    out.resize(size);
    return out;
}

Result<std::string> Decompressor::decompress(std::string_view bytes, std::string_view reference, std::size_t most) {
    const unsigned long long size = ::ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
        return plain_error("is damaged: a tick is not compressed as memscope does it");
    // zstd expands by at most some ten thousand times, so a short input cannot make this allocate without reason.
    if (size > most) return plain_error("has a tick that is larger than a record may be");
    ZSTD_DCtx_s* context = context_.get();
    ::ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
    if (!reference.empty()) ::ZSTD_DCtx_refPrefix(context, reference.data(), reference.size());
    std::string out(size, '\0');
    const std::size_t got = ::ZSTD_decompressDCtx(context, out.data(), out.size(), bytes.data(), bytes.size());
    if (::ZSTD_isError(got) != 0 || got != size) return plain_error("is damaged: a tick cannot be decompressed");
    return out;
}

}  // namespace memscope::recording
