#include "record/record.h"

#include <cmath>
#include <gmock/gmock.h>

#include "filled.h"
#include "record/codec.h"
#include "record/container.h"

namespace memscope {

// A struct as a later version has it, and as it was before.
struct OfLater {
    int kept = 0;
    std::vector<std::string> added{};
    std::optional<Pressure> more{};
    double last = 0;
};
struct OfNow {
    int kept = 0;
    bool not_there_yet = true;
};
// A table that lists one member twice and another one never.
struct TwoAlike {
    int first = 0;
    int second = 0;
};

namespace record {

template <>
struct Fields<OfLater> {
    using T = OfLater;
    static constexpr auto kList =
        fields(field<1>(&T::kept), field<3>(&T::added), field<4>(&T::more), field<500>(&T::last));
};
template <>
struct Fields<OfNow> {
    using T = OfNow;
    static constexpr auto kList = fields(field<1>(&T::kept), field<2>(&T::not_there_yet));
};
template <>
struct Fields<TwoAlike> {
    using T = TwoAlike;
    static constexpr auto kList = fields(field<1>(&T::first), field<2>(&T::first));
};

namespace record_test {

using test::filled;
using test::is_same;
using testing::HasSubstr;

template <class T>
std::string content_of(const T& value) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    Sink sink{writer, bytes};
    put_members(sink, value, default_of<T>());
    return bytes;
}

template <class T>
T content_as(const std::string& bytes) {
    T value{};
    Budget budget(bytes.size());
    protozero::pbf_reader reader(bytes);
    take_members(reader, value, budget);
    return value;
}

template <class T>
bool comes_back(const T& value) {
    const auto read = decode_record<T>(encode_record(value));
    EXPECT_TRUE(read) << read.error().message();
    return read && is_same(*read, value);
}

// A wrapper of a value that has no record of its own.
bool comes_back(const MemoryState& memory) {
    Snapshot snapshot;
    snapshot.targets.resize(1);
    snapshot.targets[0].memory = memory;
    return comes_back(snapshot);
}

TEST(Record, EveryMemberComesBack) {
    EXPECT_TRUE(comes_back(filled<Snapshot>()));
    EXPECT_TRUE(comes_back(filled<Growth>()));
    EXPECT_TRUE(comes_back(filled<DeathReport>()));
    EXPECT_TRUE(comes_back(filled<WholeCensus>()));
    EXPECT_FALSE(is_same(filled<DeathReport>(), DeathReport{}));
}

TEST(Record, ValuesThatAreAllDefaultsComeBack) {
    EXPECT_TRUE(comes_back(Snapshot{}));
    EXPECT_TRUE(comes_back(Growth{}));
    DeathReport report;
    report.deaths.resize(3);
    report.then.targets.resize(2);
    report.then.targets[1].processes.resize(2);
    report.then.targets[1].roles[{}];
    report.growth.emplace();
    report.events.resize(2);
    report.advice.resize(2);
    EXPECT_TRUE(comes_back(report));
}

TEST(Record, AMemberThatIsNotEncodedIsNoticed) {
    const TwoAlike value{1, 2};
    EXPECT_FALSE(is_same(content_as<TwoAlike>(content_of(value)), value));
    EXPECT_TRUE(is_same(content_as<OfNow>(content_of(OfNow{1, false})), OfNow{1, false}));
}

TEST(Record, ZeroIsNotAbsent) {
    MemoryState memory;
    EXPECT_TRUE(comes_back(memory));
    memory.peak = Bytes{0};
    memory.limit = Bytes{0};
    memory.effective.emplace();
    EXPECT_TRUE(comes_back(memory));
    EXPECT_FALSE(is_same(memory, MemoryState{}));
}

TEST(Record, AnEmptyListIsNotAbsent) {
    Snapshot snapshot;
    snapshot.targets.resize(2);
    snapshot.targets[0].lines.emplace();
    const auto read = decode_record<Snapshot>(encode_record(snapshot));
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->targets[0].lines.has_value() && read->targets[0].lines->empty());
    EXPECT_FALSE(read->targets[1].lines.has_value());
}

TEST(Record, AnEmptyCommandIsNotAbsent) {
    Snapshot snapshot;
    snapshot.targets.resize(1);
    snapshot.targets[0].processes.resize(2);
    snapshot.targets[0].processes[0].command = std::make_shared<const std::string>();
    EXPECT_TRUE(comes_back(snapshot));
}

TEST(Record, EveryBitOfANumberComesBack) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    for (const double odd : {-0.0, std::nan("7"), -std::nan(""), kInfinity, -kInfinity, 5e-324}) {
        Snapshot snapshot{.time = odd};
        snapshot.self.cpu = Seconds(odd);
        EXPECT_TRUE(comes_back(snapshot)) << odd;
    }
    Growth growth{.file_mapped_bytes = INT64_MIN, .reserved_bytes = INT64_MAX};
    growth.resident.sites.resize(1);
    growth.resident.sites[0].pids = {INT32_MIN, 0, INT32_MAX};
    EXPECT_TRUE(comes_back(growth));
    MemoryState memory;
    memory.usage = Bytes{UINT64_MAX};
    EXPECT_TRUE(comes_back(memory));
}

TEST(Record, EveryCounterOfActionsComesBack) {
    std::uint64_t count = 0;
    Snapshot snapshot;
    for (const ActionEvent event : kActionEvents)
        for (const ActionOutcome outcome : kActionOutcomes) snapshot.self.actions.add(event, outcome, ++count);
    const auto read = decode_record<Snapshot>(encode_record(snapshot));
    ASSERT_TRUE(read);
    for (const ActionEvent event : kActionEvents)
        for (const ActionOutcome outcome : kActionOutcomes)
            EXPECT_EQ(read->self.actions.of(event, outcome), snapshot.self.actions.of(event, outcome));
    EXPECT_EQ(count, 8);
}

TEST(Record, ARecordOfOneTargetHasTheMachineAndThatTarget) {
    const Snapshot two = filled<Snapshot>();
    const auto read = decode_record<Snapshot>(encode_target(two, two.targets[1]));
    ASSERT_TRUE(read);
    ASSERT_EQ(read->targets.size(), 1);
    EXPECT_TRUE(is_same(read->targets[0], two.targets[1]));
    EXPECT_TRUE(is_same(read->self, two.self) && is_same(read->host, two.host) && is_same(read->gpus, two.gpus));
}

TEST(Record, FieldsOfALaterVersionAreSkippedAndMissingOnesHaveTheirDefault) {
    const std::string later = content_of(OfLater{7, {"a", "b"}, Pressure{.some = Seconds{1}}, 3.5});
    const OfNow now = content_as<OfNow>(later);
    EXPECT_EQ(now.kept, 7);
    EXPECT_TRUE(now.not_there_yet);
    const OfLater back = content_as<OfLater>(content_of(OfNow{8, false}));
    EXPECT_EQ(back.kept, 8);
    EXPECT_TRUE(back.added.empty() && !back.more);
}

TEST(Record, ARecordOfALaterVersionNamesTheProgramThatReadsIt) {
    const auto read = decode_record<Growth>(sealed(Kind::growth, "anything", kFormatVersion + 1));
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message(), HasSubstr("is a record of a later version: read it with memscope "));
    EXPECT_THAT(read.error().message(), HasSubstr(" or later"));
}

TEST(Record, OtherBytesAreRefused) {
    EXPECT_EQ(decode_record<Growth>("").error().message(), "is not a record of memscope");
    EXPECT_EQ(decode_record<Growth>("{\"report\": \"death\"}").error().message(), "is not a record of memscope");
    EXPECT_EQ(decode_record<Growth>(encode_record(Snapshot{})).error().message(),
              "is a record of a snapshot, not of growth");
    EXPECT_EQ(decode_record<Growth>(encode_record(Growth{}) + "x").error().message(),
              "is damaged: bytes follow its end");
}

TEST(Record, EnumeratorsAreCounted) {
    EXPECT_EQ(enumerators<Role>(), std::size(kRoles));
    EXPECT_EQ(enumerators<DeathCause>(), std::size(kDeathCauses));
    EXPECT_EQ(enumerators<PrecursorKind>(), std::size(kPrecursorKinds));
    EXPECT_EQ(enumerators<VerdictScope>(), 4);
    EXPECT_EQ(enumerators<CgroupId>(), 0);
}

}  // namespace record_test
}  // namespace record
}  // namespace memscope
