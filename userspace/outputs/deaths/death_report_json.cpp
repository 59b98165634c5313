#include "outputs/deaths/death_report_json.h"

#include "analysis/heap/holder_sentence.h"
#include "base/base64.h"
#include "base/version.h"
#include "outputs/deaths/death_json.h"
#include "outputs/growth/growth_json.h"
#include "outputs/growth/growth_report.h"
#include "outputs/heap/objects_json.h"
#include "outputs/json/json_writer.h"
#include "outputs/json/tick_json.h"
#include "record/record.h"

namespace memscope {
namespace {

void write_series(JsonWriter& json, const std::vector<HeldPoint>& series) {
    json.list("series", [&] {
        for (const HeldPoint& point : series)
            json.object([&] {
                json.field("time", point.time);
                json.field("held_bytes", point.held);
                json.field("usage_bytes", point.usage);
            });
    });
}

void write_events(JsonWriter& json, const std::vector<PastEvent>& events) {
    json.list("events", [&] {
        for (const PastEvent& event : events)
            json.object([&] {
                json.field("time", event.time);
                json.field("kind", event.kind);
                json.field("text", event.text);
            });
    });
}

}  // namespace

std::string death_report_json(const DeathReport& report) {
    JsonWriter json;
    json.object([&] {
        json.field("report", "death");
        json.field("version", kDeathReportVersion);
        json.field("memscope", std::string_view(kVersion));
        json.field("time", report.decisive().time);
        json.field("target", report.target().info.name);
        json.list("deaths", [&] {
            for (const Death& death : report.deaths) json.object([&] { write_death(json, death); });
        });
        json.field("deaths_left_out", report.deaths_left_out);
        json.field("unreported", report.unreported);
        json.list("advice", [&] {
            for (const std::string& sentence : report.advice) json.value(sentence);
        });
        write_events(json, report.events);
        json.raw_object("then", tick_json(report.then, report.target()));
        json.field("processes_left_out", report.processes_left_out);
        json.field("left_out_resident_bytes", report.left_out_resident);
        if (report.growth)
            json.raw_object(
                "growth",
                growth_json({.time = report.then.time, .target = report.target().info, .growth = *report.growth}));
        else
            json.field("growth", nullptr);
        const ProcessHeap* heap = heap_that_grows(report.target(), report.then.time);
        write_held(json, "holders", heap ? heap->held : std::nullopt);
        write_series(json, report.series);
        json.field(kRecordKey, base64(encode_record(report)));
    });
    return json.text();
}

}  // namespace memscope
