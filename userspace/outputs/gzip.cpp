#include "outputs/gzip.h"

#include <cstdint>
#include <new>
#include <stdexcept>
#include <zlib.h>

namespace memscope {

std::string gzipped(std::string_view bytes) {
    constexpr int kGzip = 16 + MAX_WBITS;  // gzip's header, and the largest window
    constexpr int kUsualMemory = 8;
    z_stream stream{};
    if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kUsualMemory, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::bad_alloc();
    std::string out(::deflateBound(&stream, bytes.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // it only reads there
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int ended = ::deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    ::deflateEnd(&stream);
    if (ended != Z_STREAM_END || bytes.size() > UINT32_MAX) throw std::length_error("gzipped");
    return out;
}

}  // namespace memscope
