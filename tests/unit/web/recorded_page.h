#pragma once
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "record/record.h"
#include "support/fake_tree.h"
#include "support/json.h"
#include "support/recorded_job.h"
#include "web/html_report.h"
#include "web/page_data.h"

namespace memscope::web::test {

inline constexpr std::uint64_t kMiB = 1U << 20U;
inline constexpr double kBegan = 1'000'000;  // seconds since 1970
inline const std::string kHostile = "</script><!--\xe2\x80\xa8\xff&\x1b[2J";

inline const char* const kIndex =
    "<!doctype html>\n<html><head><meta charset=\"utf-8\">\n<link rel=\"stylesheet\" href=\"/page.css\">\n</head>\n"
    "<body>\n<script type=\"module\" src=\"/page.js\"></script>\n</body></html>\n";

// A recording that a test writes tick by tick.
struct RecordedPage : testing::Test {
    FakeTree tree{{"state/", ""},
                  {"page/index.html", kIndex},
                  {"page/page.js", "console.log(1);\r\n"},
                  {"page/page.css", "body { margin: 0 }\n"},
                  {"page/licences.txt", "none\n"}};
    RecordingStore store = store_in(tree.at("state"));
    fs::path path{};
    std::optional<recording::RecordingFile> writer{};
    std::int64_t id = 0;
    std::string target = "train";

    void begin() {
        auto file = store.create(target, kBegan);
        ASSERT_TRUE(file);
        path = file->path;
        auto made = recording::RecordingFile::create(
            *std::move(file), {{"begin", "1000000"}, {"version", "7"}, {"interval", "1"}}, Seconds{});
        ASSERT_TRUE(made) << made.error().message();
        writer.emplace(*std::move(made));
        id = *writer->add_target({.name = target});
    }
    Snapshot snapshot_of(double at, std::uint64_t mib) const { return tick_of(target, kBegan + at, {mib * kMiB}); }
    void tick(double at, const Snapshot& snapshot) {
        ASSERT_TRUE(writer->add_tick(id, Seconds(at), snapshot, snapshot.targets.front()));
    }
    void tick(double at, std::uint64_t mib) { tick(at, snapshot_of(at, mib)); }
    void event(double at, const char* kind, const std::string& text) {
        ASSERT_TRUE(writer->add_event(id, Seconds(at), kBegan + at, kind, text));
    }
    void growth(double at, const Growth& grown) {
        ASSERT_TRUE(writer->add_growth(id, Seconds(at), kBegan + at, "minute", true, encode_record(grown)));
    }
    void close() { ASSERT_TRUE(writer->close()); }
    RecordedRun opened() {
        auto run = RecordedRun::open(path, {});
        EXPECT_TRUE(run) << (run ? "" : run.error().message());
        return *std::move(run);
    }
    std::unique_ptr<PageData> page() {
        auto data = PageData::of_recording(opened());
        EXPECT_TRUE(data) << (data ? "" : data.error().message());
        (*data)->start();
        while (!nlohmann::json::parse((*data)->run().json)["complete"])
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return *std::move(data);
    }
    PageFiles files() {
        auto loaded = PageFiles::load(tree.at("page"));
        EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message());
        return *std::move(loaded);
    }
    std::string report(const HtmlReportOptions& options = {}) {
        const auto html = html_report(opened(), files(), options);
        EXPECT_TRUE(html) << (html ? "" : html.error().message());
        return *html;
    }
    // The data that the report contains.
    static nlohmann::json data_in(const std::string& html) {
        const std::string begin = "<script type=\"application/json\" id=\"memscope-data\">";
        const auto from = html.find(begin) + begin.size();
        return nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from));
    }
};

inline const nlohmann::json* series(const nlohmann::json& curves, const std::string& id) {
    for (const nlohmann::json& each : curves["series"])
        if (each["id"] == id) return &each;
    return nullptr;
}

}  // namespace memscope::web::test
