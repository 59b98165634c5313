#include "web/page_files.h"

#include <cstdlib>
#include <zlib.h>

namespace memscope::web {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20U;

struct Known {
    const char* name;
    const char* type;
};
constexpr Known kFiles[] = {{"index.html", "text/html; charset=utf-8"},
                            {"page.js", "text/javascript; charset=utf-8"},
                            {"page.css", "text/css; charset=utf-8"},
                            {"licences.txt", "text/plain; charset=utf-8"}};

Error no_page() {
    return plain_error("this memscope was built without its web page",
                       "install nodejs and npm and build it again, or use a memscope package");
}

// The content of gzip data. An error if it is damaged or has more than `most` bytes.
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

}  // namespace

Result<PageFiles> PageFiles::load(const std::optional<fs::path>& directory) {
    PageFiles files;
    for (const Known& known : kFiles) {
        File file{.type = known.type};
        if (directory) {
            auto content = read_file(*directory / known.name, kMostBytes);
            if (!content) return content.error();
            file.content = *std::move(content);
        } else {
            const EmbeddedFile* embedded = nullptr;
            for (const EmbeddedFile& each : embedded_files())
                if (each.name == known.name) embedded = &each;
            if (!embedded) return no_page();
            auto content = gunzip(embedded->gzip, kMostBytes);
            if (!content) return content.error();
            file.content = *std::move(content);
            file.gzip = embedded->gzip;
        }
        files.files_[known.name] = std::move(file);
    }
    return files;
}

Result<PageFiles> load_page_files() {
    const char* const directory = std::getenv(kPageVariable);
    return PageFiles::load(directory ? std::optional<fs::path>(directory) : std::nullopt);
}

const PageFiles::File* PageFiles::find(const std::string& name) const {
    const auto found = files_.find(name);
    return found == files_.end() ? nullptr : &found->second;
}

}  // namespace memscope::web
