#include "recording/schema.h"

namespace memscope::recording {
namespace {

constexpr Table kTables[] = {
    // version: of the memscope that recorded it; begin: seconds since 1970; interval and warmup: seconds.
    {"meta", "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID"},
    {"targets", "CREATE TABLE targets(id INTEGER PRIMARY KEY, name TEXT, kind TEXT, cgroup_version INTEGER)"},
    // bytes: the judged memory. base: NULL for a keyframe, whose record is compressed alone; otherwise the id of the
    // keyframe against which the record is compressed.
    {"ticks",
     "CREATE TABLE ticks(id INTEGER PRIMARY KEY, target INTEGER, at REAL, time REAL, bytes INTEGER, usage INTEGER, "
     "processes INTEGER, base INTEGER, record BLOB)"},
    {"events", "CREATE TABLE events(id INTEGER PRIMARY KEY, target INTEGER, at REAL, time REAL, kind TEXT, text TEXT)"},
    // lasting: 0 if the row is removed together with the ticks between keyframes.
    {"growth",
     "CREATE TABLE growth(id INTEGER PRIMARY KEY, target INTEGER, at REAL, time REAL, reason TEXT, lasting INTEGER, "
     "record BLOB)"},
    // time: when the census was taken. The record has all Python objects; the records of ticks have only a summary of
    // them.
    {"heap",
     "CREATE TABLE heap(id INTEGER PRIMARY KEY, target INTEGER, at REAL, time REAL, pid INTEGER, lasting INTEGER, "
     "record BLOB)"},
    // time and pid: of the decisive death. A later version of a report replaces the earlier one.
    {"reports",
     "CREATE TABLE reports(target INTEGER, time REAL, pid INTEGER, at REAL, record BLOB, PRIMARY KEY(target, time, "
     "pid)) WITHOUT ROWID"},
    // The lowest and the highest value of a series within 10 s. Kept when the ticks between keyframes are removed.
    {"series", "CREATE TABLE series(id INTEGER PRIMARY KEY, target INTEGER, name TEXT)"},
    {"bins",
     "CREATE TABLE bins(at REAL, series INTEGER, low INTEGER, high INTEGER, PRIMARY KEY(at, series)) WITHOUT ROWID"},
};

}  // namespace

std::span<const Table> tables() { return kTables; }

}  // namespace memscope::recording
