#include "review/perfetto.h"

#include <protozero/pbf_writer.hpp>
#include <utility>

#include "base/text.h"

namespace memscope::perfetto {
namespace {

using protozero::pbf_writer;

// All packets are of one sequence, as if one thread had written them. 0 is not allowed.
constexpr std::uint32_t kSequence = 1;
// A flag of the first packet: no packet of the sequence is missing before it. Some readers drop events otherwise.
constexpr std::uint32_t kStateCleared = 1;

// Numbers of clocks.
constexpr std::uint32_t kRealTime = 1;
constexpr std::uint32_t kBootTime = 6;  // the clock of time stamps that name no clock

std::uint64_t stamp(std::int64_t at) { return at < 0 ? 0 : static_cast<std::uint64_t>(at); }

void add_text(pbf_writer& writer, std::uint32_t field, std::string_view text) {
    const std::string clean = printable(text);  // UTF-8 is required
    writer.add_string(field, clean);
}

}  // namespace

void TraceWriter::add_clock(std::int64_t at) {
    pbf_writer trace(bytes_);
    pbf_writer packet(trace, trace::packet);
    packet.add_uint64(packet::timestamp, stamp(at));
    packet.add_uint32(packet::sequence, kSequence);
    packet.add_uint32(packet::sequence_flags, kStateCleared);
    pbf_writer clocks(packet, packet::clock_snapshot);
    for (const std::uint32_t id : {kBootTime, kRealTime}) {
        pbf_writer clock(clocks, clocks::clock);
        clock.add_uint32(clock_field::id, id);
        clock.add_uint64(clock_field::timestamp, stamp(at));
    }
}

template <class More>
Track TraceWriter::describe(More more) {
    pbf_writer trace(bytes_);
    pbf_writer packet(trace, trace::packet);
    packet.add_uint32(packet::sequence, kSequence);
    pbf_writer track(packet, packet::track_descriptor);
    track.add_uint64(descriptor::uuid, ++last_track_);
    more(track);
    return last_track_;
}

Track TraceWriter::add_track(std::string_view name, Track parent) {
    return describe([&](pbf_writer& track) {
        add_text(track, descriptor::name, name);
        if (parent != 0) track.add_uint64(descriptor::parent, parent);
    });
}

Track TraceWriter::add_counter(std::string_view name, Unit unit, Track parent) {
    return describe([&](pbf_writer& track) {
        add_text(track, descriptor::name, name);
        if (parent != 0) track.add_uint64(descriptor::parent, parent);
        pbf_writer counter(track, descriptor::counter);
        counter.add_enum(counter_field::unit, static_cast<std::int32_t>(unit));
    });
}

Track TraceWriter::add_process(const TraceProcess& process) {
    return describe([&](pbf_writer& track) {
        pbf_writer writer(track, descriptor::process);
        writer.add_int32(process_field::pid, process.pid);
        if (!process.command.empty()) add_text(writer, process_field::command, process.command);
        add_text(writer, process_field::name, process.name);
        if (process.start_ns > 0) writer.add_int64(process_field::start_ns, process.start_ns);
    });
}

void TraceWriter::add_value(Track counter, std::int64_t at, std::int64_t value) {
    pbf_writer trace(bytes_);
    pbf_writer packet(trace, trace::packet);
    packet.add_uint64(packet::timestamp, stamp(at));
    packet.add_uint32(packet::sequence, kSequence);
    pbf_writer event(packet, packet::track_event);
    event.add_enum(event::type, static_cast<std::int32_t>(Type::counter));
    event.add_uint64(event::track, counter);
    event.add_int64(event::counter_value, value);
}

void TraceWriter::add_event(Track track, std::int64_t at, Type type, std::string_view name, std::string_view details) {
    pbf_writer trace(bytes_);
    pbf_writer packet(trace, trace::packet);
    packet.add_uint64(packet::timestamp, stamp(at));
    packet.add_uint32(packet::sequence, kSequence);
    pbf_writer event(packet, packet::track_event);
    event.add_enum(event::type, static_cast<std::int32_t>(type));
    event.add_uint64(event::track, track);
    if (type != Type::end) add_text(event, event::name, name);
    if (details.empty()) return;
    pbf_writer note(event, event::annotation);
    note.add_string(annotation::name, "details");
    add_text(note, annotation::text, details);
}

void TraceWriter::begin(Track track, std::int64_t at, std::string_view name, std::string_view details) {
    add_event(track, at, Type::begin, name, details);
}

void TraceWriter::end(Track track, std::int64_t at) { add_event(track, at, Type::end, {}, {}); }

void TraceWriter::add_instant(Track track, std::int64_t at, std::string_view name, std::string_view details) {
    add_event(track, at, Type::instant, name, details);
}

std::string TraceWriter::take() { return std::exchange(bytes_, {}); }

}  // namespace memscope::perfetto
