// Records that are damaged or forged. Their values may be wrong, but decoding must end and must take little memory.
#include <gmock/gmock.h>
#include <random>

#include "base/text.h"
#include "filled.h"
#include "record/codec.h"
#include "record/container.h"
#include "record/record.h"

namespace memscope::record {
namespace record_hostile_test {

using test::filled;
using test::is_same;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

template <class T>
constexpr Kind kKind = Kind::snapshot;
template <>
constexpr Kind kKind<Growth> = Kind::growth;
template <>
constexpr Kind kKind<DeathReport> = Kind::death_report;
template <>
constexpr Kind kKind<WholeCensus> = Kind::heap_census;

template <class T>
std::string content_of(const T& value) {
    return std::string(*unsealed(kKind<T>, encode_record(value)));
}

// True if the bytes give a value that can be encoded again, or an error of one line.
template <class T>
bool survives(const std::string& content) {
    const auto read = decode_record<T>(sealed(kKind<T>, content));
    if (!read) return printable(read.error().message()) == read.error().message();
    const auto again = decode_record<T>(encode_record(*read));
    return again && is_same(*again, *read);
}

// A field that has a length, with any content.
std::string message(std::uint32_t number, std::string_view content) {
    std::string bytes;
    protozero::pbf_writer(bytes).add_bytes(number, content.data(), content.size());
    return bytes;
}

std::string repeated(std::size_t times, const std::string& bytes) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += bytes;
    return all;
}

constexpr std::uint32_t kTargets = 4;    // of a snapshot
constexpr std::uint32_t kProcesses = 5;  // of a target
constexpr std::uint32_t kMemory = 4;
constexpr std::uint32_t kInfo = 1;

TEST(HostileRecord, EveryTruncationIsAnError) {
    const std::string whole = encode_record(filled<Growth>());
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const auto read = decode_record<Growth>(std::string_view(whole).substr(0, length));
        ASSERT_FALSE(read) << length;
        ASSERT_THAT(read.error().message(), AnyOf("is cut short", "is not a record of memscope")) << length;
    }
    const std::string report = encode_record(filled<DeathReport>());
    for (std::size_t length = 0; length < report.size(); length += 101)
        ASSERT_FALSE(decode_record<DeathReport>(std::string_view(report).substr(0, length))) << length;
}

TEST(HostileRecord, EveryFlippedBitIsNoticed) {
    Growth growth;
    growth.resident.sites.resize(2);
    growth.resident.sites[0].python = {{"main", "train.py", 7}};
    const std::string whole = encode_record(growth);
    for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
        std::string flipped = whole;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
        ASSERT_FALSE(decode_record<Growth>(flipped)) << bit;
    }
}

// With a correct checksum, as an attacker would make it.
TEST(HostileRecord, ContentThatEndsAnywhereDoesNoHarm) {
    const std::string whole = content_of(filled<Growth>());
    for (std::size_t length = 0; length < whole.size(); ++length)
        ASSERT_TRUE(survives<Growth>(whole.substr(0, length))) << length;
    const std::string snapshot = content_of(filled<Snapshot>());
    for (std::size_t length = 0; length < snapshot.size(); length += 37)
        ASSERT_TRUE(survives<Snapshot>(snapshot.substr(0, length))) << length;
    const std::string census = content_of(filled<WholeCensus>());
    for (std::size_t length = 0; length < census.size(); ++length)
        ASSERT_TRUE(survives<WholeCensus>(census.substr(0, length))) << length;
}

TEST(HostileRecord, FlippedBitsOfTheContentDoNoHarm) {
    const std::string whole = content_of(filled<DeathReport>());
    std::mt19937 random(1);
    for (int round = 0; round < 300; ++round) {
        std::string flipped = whole;
        for (int flips = 1 + round % 4; flips > 0; --flips) {
            char& byte = flipped[random() % flipped.size()];
            byte = static_cast<char>(byte ^ 1 << random() % 8);
        }
        ASSERT_TRUE(survives<DeathReport>(flipped)) << round;
    }
}

TEST(HostileRecord, AnyBytesDoNoHarm) {
    std::mt19937 random(2);
    for (int round = 0; round < 2000; ++round) {
        std::string bytes(random() % 64, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random());
        ASSERT_TRUE(survives<Snapshot>(bytes)) << round;
        (void)decode_record<Snapshot>(bytes);
    }
}

TEST(HostileRecord, AFieldOfAnotherTypeIsRefused) {
    const std::string target = message(kTargets, message(kMemory, message(1, "usage is a number")));
    EXPECT_EQ(decode_record<Snapshot>(sealed(Kind::snapshot, target)).error().message(), "has a field of another type");
    std::string time;
    protozero::pbf_writer(time).add_uint64(1, 5);
    EXPECT_FALSE(decode_record<Snapshot>(sealed(Kind::snapshot, time)));
}

TEST(HostileRecord, AnEnumeratorThatNobodyKnowsIsRefused) {
    std::string role;
    protozero::pbf_writer(role).add_uint64(2, std::size(kRoles));
    const auto read = decode_record<Snapshot>(sealed(Kind::snapshot, message(kTargets, message(kProcesses, role))));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message(), "has a value that this version of memscope does not know");
}

TEST(HostileRecord, NumbersThatDoNotFitAreRefused) {
    std::string rank;
    protozero::pbf_writer(rank).add_sint64(3, INT64_C(1) << 40U);
    EXPECT_THAT(
        decode_record<Snapshot>(sealed(Kind::snapshot, message(kTargets, message(kProcesses, rank)))).error().message(),
        HasSubstr("out of range"));
}

TEST(HostileRecord, RefusesManyEmptyElementsThatNeedTooMuchMemory) {
    const auto decoded = [](std::size_t targets) {
        return decode_record<Snapshot>(sealed(Kind::snapshot, repeated(targets, message(kTargets, ""))));
    };
    // The limit is 16 MiB and 32 bytes for each byte of the record.
    EXPECT_TRUE(decoded(1000));
    const auto refused = decoded(100'000);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(), "would take more memory than a record of its size may take");
}

TEST(HostileRecord, TheNumberOfElementsIsBounded) {
    std::string pid;
    protozero::pbf_writer(pid).add_sint64(4, 1);
    const std::string site = repeated(Bounds::kMostElements, pid);
    const auto read = decode_record<Growth>(sealed(Kind::growth, message(1, message(1, site))));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message(), "has more elements than a record may have");
}

TEST(HostileRecord, TextsAreBounded) {
    const auto named = [](std::size_t length) {
        return decode_record<Snapshot>(
            sealed(Kind::snapshot, message(kTargets, message(kInfo, message(1, std::string(length, 'x'))))));
    };
    EXPECT_TRUE(named(Bounds::kMostText));
    EXPECT_THAT(named(Bounds::kMostText + 1).error().message(), HasSubstr("longer text"));
}

TEST(HostileRecord, TheSizeIsBounded) {
    EXPECT_THAT(decode_record<Growth>(std::string(Bounds::kMostBytes + 1, 'x')).error().message(),
                HasSubstr("larger than a record may be"));
}

// The bounds have room for the largest machine that memscope is made for.
TEST(HostileRecord, FiveThousandProcessesAndFiveThousandTargetsAreNotTooMany) {
    Snapshot snapshot;
    snapshot.targets.resize(5000);
    for (std::size_t i = 0; i < snapshot.targets.size(); ++i) snapshot.targets[i].info.name = std::to_string(i);
    snapshot.targets[0].processes.resize(5000);
    for (Process& process : snapshot.targets[0].processes)
        process.command = std::make_shared<const std::string>(1000, 'x');
    const auto read = decode_record<Snapshot>(encode_record(snapshot));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_TRUE(is_same(*read, snapshot));
}

TEST(HostileRecord, NumbersOfAnUntrustedReportCanBeShown) {
    DeathReport report;
    report.deaths.resize(2);
    report.deaths[0].time = std::nan("");
    report.then.time = 1e300;
    report.then.self.cpu = Seconds(-INFINITY);
    ASSERT_TRUE(limit_untrusted(report, 2));
    EXPECT_EQ(report.deaths[0].time, 0);
    EXPECT_EQ(report.then.time, 1e18);
    EXPECT_EQ(report.then.self.cpu, Seconds(-1e18));
    EXPECT_FALSE(limit_untrusted(report, 1));
}

}  // namespace record_hostile_test
}  // namespace memscope::record
