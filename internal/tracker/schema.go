package tracker

import (
	"path/filepath"

	"github.com/hooktrail/hooktrail/internal/beads"
	"github.com/hooktrail/hooktrail/internal/projection"
)

// schema is that of the tracker's file; its version is that of the records too.
var schema = projection.Schema{Name: "tracker", Version: 3, Tables: tables}

// A record is the JSON of the value of package issues that the table is named
// for; the columns beside it are for finding it.
const tables = `
CREATE TABLE scope (
	id     INTEGER PRIMARY KEY CHECK (id = 1),
	tenant TEXT NOT NULL -- whose events are read; empty means everybody's
) STRICT;
CREATE TABLE tenant (
	tenant TEXT PRIMARY KEY,
	record TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE run (
	tenant TEXT NOT NULL,
	run    TEXT NOT NULL,
	record TEXT NOT NULL,
	PRIMARY KEY (tenant, run)
) STRICT, WITHOUT ROWID;
CREATE TABLE step (
	tenant TEXT NOT NULL,
	run    TEXT NOT NULL,
	step   TEXT NOT NULL,
	record TEXT NOT NULL,
	PRIMARY KEY (tenant, run, step)
) STRICT, WITHOUT ROWID;
CREATE TABLE issue (
	id     TEXT PRIMARY KEY,
	tenant TEXT NOT NULL,
	run    TEXT NOT NULL,
	record TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX issue_of_run ON issue (tenant, run);
CREATE TABLE decision (
	seq       INTEGER PRIMARY KEY,
	tenant    TEXT NOT NULL,
	source    TEXT NOT NULL,
	event     TEXT NOT NULL,
	user      TEXT NOT NULL, -- who the event was about
	stored    INTEGER NOT NULL, -- when the server stored it, Unix time in nanoseconds
	id        TEXT NOT NULL UNIQUE, -- of its issue.decided
	record    TEXT NOT NULL,
	published INTEGER NOT NULL DEFAULT 0,
	UNIQUE (tenant, event, source)
) STRICT;
CREATE INDEX decision_unpublished ON decision (seq) WHERE published = 0;
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
	PRIMARY KEY (issue, decision)
) STRICT, WITHOUT ROWID;
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
` + beads.Schema

// File returns the path of the tracker's database in a data directory.
func File(dataDir string) string { return filepath.Join(dataDir, "tracker", "tracker.db") }
