#include "web/gzip.h"

#include <zlib.h>

namespace memscope::web {

Result<std::string> gunzip(std::string_view bytes, std::size_t most) {
    constexpr int kGzip = 16 + MAX_WBITS;
    z_stream stream{};
    if (::inflateInit2(&stream, kGzip) != Z_OK) return plain_error("zlib cannot start");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    std::string text;
    int state = Z_OK;
    while (state == Z_OK && text.size() <= most) {
        char piece[32768];
        stream.next_out = reinterpret_cast<Bytef*>(piece);
        stream.avail_out = sizeof piece;
        state = ::inflate(&stream, Z_NO_FLUSH);
        text.append(piece, sizeof piece - stream.avail_out);
    }
    ::inflateEnd(&stream);
    if (text.size() > most) return plain_error("the compressed data is too large");
    if (state != Z_STREAM_END) return plain_error("the compressed data is damaged");
    return text;
}

}  // namespace memscope::web
