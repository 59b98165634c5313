// Records of every kind, with any content: they are decoded, and the result is encoded again.
#include "fuzz.h"
#include "record/container.h"
#include "record/record.h"

namespace memscope::fuzz {
namespace {

template <class T>
void check(record::Kind kind, std::string_view content) {
    const auto value = parsed(decode_record<T>(record::sealed(kind, content)));
    if (!value) return;
    const std::string bytes = encode_record(*value);
    const auto again = parsed(decode_record<T>(bytes));
    require(again.has_value(), "what is encoded can be decoded");
    require(encode_record(*again) == bytes, "and is the same");
}

}  // namespace

void one(std::string_view bytes) {
    parsed(decode_record<Snapshot>(bytes));  // as a whole: nothing around it is made here
    if (bytes.empty()) return;
    const std::string_view content = bytes.substr(1);
    switch (bytes.front()) {
        case 'S':
            return check<Snapshot>(record::Kind::snapshot, content);
        case 'G':
            return check<Growth>(record::Kind::growth, content);
        case 'H':
            return check<WholeCensus>(record::Kind::heap_census, content);
        default:
            return check<DeathReport>(record::Kind::death_report, content);
    }
}

}  // namespace memscope::fuzz
