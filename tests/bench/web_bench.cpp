// How long the page of a long recording takes: until its first curve can be drawn, until all ticks are read, one zoom,
// and a report as one HTML file with its size. The recording: 20 processes, one tick a second, growth once a minute.
//   bench_web [HOURS [FILE]]      FILE: keep the recording there
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <stdexcept>
#include <thread>

#include "bench.h"
#include "long_job.h"
#include "record/record.h"
#include "recording/recording_file.h"
#include "web/html_report.h"
#include "web/page_data.h"

namespace memscope {
namespace {

template <class T>
T checked(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message());
    return *std::move(result);
}

fs::path record_job(const fs::path& folder, int ticks) {
    RecordingStore store = checked(RecordingStore::open(folder, {std::uint64_t{512} << 20U}));
    Snapshot snapshot = job(20);
    const double began = snapshot.time + 1;
    auto writer = checked(recording::RecordingFile::create(checked(store.create("bench", began)),
                                                           {{"begin", fmt::format("{:.3f}", began)}, {"interval", "1"}},
                                                           Seconds{0}));
    const auto id = checked(writer.add_target(snapshot.targets.front().info));
    for (int i = 0; i < ticks; ++i) {
        change(snapshot, i);
        checked(writer.add_tick(id, Seconds(i), snapshot, snapshot.targets.front()));
        if (i % 60 == 59)
            checked(writer.add_growth(id, Seconds(i), snapshot.time, "minute", false, encode_record(growth(i))));
        if (i % 10 == 9) checked(writer.commit());
    }
    checked(writer.close());
    return writer.path();
}

template <class Work>
double seconds_of(Work work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void measure(int hours, const char* kept) {
    const Folder folder;
    const fs::path path = record_job(folder.path, hours * 3600);
    fmt::print("web: {} h of 20 processes, one tick a second: {:.1f} MB\n", hours,
               static_cast<double>(fs::file_size(path)) / 1e6);
    std::unique_ptr<web::PageData> data;
    std::size_t size = 0;
    const double first = seconds_of([&] {
        data = checked(web::PageData::of_recording(checked(web::RecordedRun::open(path, {}))));
        size = data->run().json.size() + data->curves({}, {}, 2000).json.size();
    });
    fmt::print("  {:<44} {:>8.3f} s  ({:.0f} KB)\n", "until the first curve can be drawn", first,
               static_cast<double>(size) / 1e3);
    const double all = seconds_of([&] {
        data->start();
        while (data->run().json.find("\"complete\":true") == std::string::npos)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
    });
    fmt::print("  {:<44} {:>8.3f} s\n", "until all ticks are read", all);
    fmt::print("  {:<44} {:>8.3f} s\n", "the whole run in 2,000 bins",
               seconds_of([&] { (void)data->curves({}, {}, 2000); }));
    std::string html;
    const auto files = web::load_page_files();
    const double written = seconds_of([&] {
        if (files) html = checked(web::html_report(checked(web::RecordedRun::open(path, {})), *files, {}));
    });
    if (files)
        fmt::print("  {:<44} {:>8.3f} s  ({:.2f} MB)\n", "a report", written, static_cast<double>(html.size()) / 1e6);
    else
        fmt::print("  no report: {}\n", files.error().message());
    if (kept) fs::copy_file(path, kept, fs::copy_options::overwrite_existing);
}

}  // namespace
}  // namespace memscope

int main(int count, char** arguments) {
    return memscope::report_of(
        [&] { memscope::measure(count > 1 ? std::atoi(arguments[1]) : 24, count > 2 ? arguments[2] : nullptr); });
}
