package store

import (
	"context"
	"path/filepath"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
)

// File returns the path of the tracker's database.
func File(dataDir string) string { return filepath.Join(dataDir, "tracker", "tracker.db") }

// Schema returns the schema of the tracker's database. extra contains further SQL statements. If
// you change a table, increase Version. Trackers then rebuild their database.
func Schema(extra string) projection.Schema {
	return projection.Schema{Name: "tracker", Version: 4, Tables: tables + extra}
}

// Read runs fn on a snapshot of the database, even while a tracker writes. If the file is missing,
// the error wraps [fs.ErrNotExist].
func Read(ctx context.Context, dataDir string, fn func(*sqlite.Conn) error) error {
	return projection.Read(ctx, File(dataDir), Schema(""), fn)
}

// Do not change this text, because it is part of the file format.
const tables = `
CREATE TABLE scope (
	id     INTEGER PRIMARY KEY CHECK (id = 1),
	tenant TEXT NOT NULL -- whose events are read; empty means everybody's
) STRICT;
CREATE TABLE record (
	tenant TEXT NOT NULL,
	kind   TEXT NOT NULL,
	id     TEXT NOT NULL,
	record TEXT NOT NULL,
	PRIMARY KEY (tenant, kind, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX record_issue ON record (tenant, id) WHERE kind = 'issue';
CREATE TABLE timer (
	tenant TEXT NOT NULL,
	id     TEXT NOT NULL,
	at     TEXT NOT NULL, -- RFC 3339, UTC, always nine digits behind the second: sorts by time
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX timer_due ON timer (tenant, at, id);
CREATE INDEX timer_clock ON timer (at);
CREATE TABLE decision (
	seq       INTEGER PRIMARY KEY, -- in the order in which the events came
	tenant    TEXT NOT NULL,
	source    TEXT NOT NULL,
	event     TEXT NOT NULL,
	kind      TEXT NOT NULL, -- of the event
	run       TEXT NOT NULL, -- of the event
	user      TEXT NOT NULL, -- who the event was about
	time      TEXT NOT NULL, -- of the event, as in timer
	stored    INTEGER NOT NULL, -- when the server stored it, Unix time in nanoseconds
	id        TEXT UNIQUE, -- of its issue.decided; NULL while it is held
	record    TEXT, -- [issues.Decision]; NULL while it is held
	published INTEGER NOT NULL DEFAULT 0,
	erased    INTEGER NOT NULL DEFAULT 0, -- 1: an order took its texts, and takes those of what is held
	UNIQUE (tenant, event, source)
) STRICT;
CREATE INDEX decision_of_tenant ON decision (tenant, seq);
CREATE INDEX decision_unpublished ON decision (seq) WHERE published = 0 AND record IS NOT NULL;
CREATE TABLE demand (
	seq    INTEGER PRIMARY KEY,
	tenant TEXT NOT NULL,
	id     TEXT NOT NULL, -- of the order; of one that is unchecked, "event" and the event's
	state  TEXT NOT NULL, -- done, hold (in force), key (it changes that), or unchecked: no key was there that had signed it
	upto   INTEGER NOT NULL, -- the last decision before it
	note   TEXT NOT NULL, -- of a hold its selection, of what is unchecked all of it
	UNIQUE (tenant, id)
) STRICT;
CREATE TABLE touched (
	issue    TEXT NOT NULL,
	decision INTEGER NOT NULL REFERENCES decision (seq),
	occurs   INTEGER NOT NULL, -- 1: its event is an occurrence of the issue
	PRIMARY KEY (issue, decision)
) STRICT, WITHOUT ROWID;
CREATE INDEX touched_by ON touched (decision);
CREATE TABLE effect (
	seq      INTEGER PRIMARY KEY,
	decision INTEGER NOT NULL REFERENCES decision (seq),
	tenant   TEXT NOT NULL,
	issue    TEXT NOT NULL,
	record   TEXT NOT NULL,
	settled  INTEGER NOT NULL DEFAULT 0,
	outcome  TEXT NOT NULL DEFAULT '' -- why the backend would not have it
) STRICT;
CREATE INDEX effect_unsettled ON effect (seq) WHERE settled = 0;
CREATE INDEX effect_of_issue ON effect (issue, seq);
`
