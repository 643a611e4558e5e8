package gauntlet

import (
	"fmt"
	"math/rand/v2"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// plain selects ordinary events that nothing else in the file refers to. An attacker needs to
// change only the leaf and its record.
const plain = `SELECT l.leaf FROM leaves l JOIN payloads p USING (leaf) WHERE l.class = 'event' AND p.blob IS NULL
	AND l.kind NOT IN ('run.started', 'run.sealed') AND l.leaf NOT IN (SELECT leaf FROM seen)`

// mutation changes leaves and records at a random position. The attacker repairs the hashes
// afterwards.
type mutation func(f *file, r *rand.Rand)

func edit(f *file, r *rand.Rand) {
	leaf := pick(r, f.ints(plain))
	data := f.record(leaf, func(e *events.Event) {
		if r.IntN(2) == 0 {
			e.Data = fmt.Appendf(nil, `{"tool":"Forged %d"}`, r.IntN(1000))
		} else {
			e.Agent = "somebody else"
		}
	})
	hash := events.HashOf(data)
	f.do("UPDATE payloads SET bytes = ? WHERE leaf = ?", data, leaf)
	f.do("UPDATE leaves SET hash = ? WHERE leaf = ?", hash[:], leaf)
}

func (f *file) record(leaf int64, change func(*events.Event)) (data []byte) {
	f.tb.Helper()
	f.rows("SELECT bytes FROM payloads WHERE leaf = ?", func(stmt *sqlite.Stmt) { data = sqlitetx.Bytes(stmt, 0) }, leaf)
	e, err := events.Decode(data)
	if err != nil {
		f.tb.Fatal(err)
	}
	change(&e)
	return e.Encode()
}

func remove(f *file, r *rand.Rand) {
	leaf := pick(r, f.ints(plain))
	f.do("DELETE FROM leaves WHERE leaf = ?", leaf)
	f.do("DELETE FROM payloads WHERE leaf = ?", leaf)
	f.shift(leaf, -1)
}

// anywhere selects the leaves before which an event can be inserted.
const anywhere = `SELECT leaf FROM leaves WHERE leaf > 0 AND class = 'event' AND kind NOT IN ('run.sealed', 'blob.chunk')`

// insert inserts a new event with the next number of its producer.
func insert(f *file, r *rand.Rand) {
	leaf := pick(r, f.ints(anywhere))
	f.insert(leaf, "event", "", func(e *events.Event) {
		e.ID = fmt.Sprintf("forged-%d", r.Uint64())
		e.Sequence = uint64(f.ints("SELECT max(sequence) + 1 FROM leaves WHERE producer = (SELECT producer FROM leaves WHERE leaf = ?)", leaf)[0])
	})
}

// double inserts an event again as a quarantined one, which the schema allows.
func double(f *file, r *rand.Rand) {
	f.insert(pick(r, f.ints(anywhere)), "conflict", "sequence-reused", func(*events.Event) {})
}

func (f *file) insert(leaf int64, class, finding string, change func(*events.Event)) {
	f.tb.Helper()
	data := f.record(leaf, change)
	e, err := events.Decode(data)
	if err != nil {
		f.tb.Fatal(err)
	}
	hash := events.HashOf(data)
	f.shift(leaf, 1)
	stream := f.ints("SELECT stream FROM leaves WHERE leaf = ?", leaf+1)[0]
	for _, table := range []string{"leaves", "seen"} {
		f.do("UPDATE "+table+" SET stream = stream + 1 WHERE stream >= ?", stream)
	}
	f.do(`INSERT INTO leaves (leaf, class, id, producer, sequence, run, kind, time, hash, finding, epoch, stream, stored)
		SELECT leaf - 1, ?, ?, producer, ?, run, kind, time, ?, ?, epoch, stream - 1, stored FROM leaves WHERE leaf = ?`,
		class, e.ID, int64(e.Sequence), hash[:], finding, leaf+1)
	f.do("INSERT INTO payloads (leaf, bytes) VALUES (?, ?)", leaf, data)
}

// swap exchanges two events but not their messages.
func swap(f *file, r *rand.Rand) {
	all := f.ints(plain)
	i := r.IntN(len(all))
	j := (i + 1 + r.IntN(len(all)-1)) % len(all)
	a, b := all[i], all[j]
	for _, table := range []string{"leaves", "payloads"} {
		for _, move := range [...][2]int64{{a, -1}, {b, a}, {-1, b}} {
			f.do(fmt.Sprintf("UPDATE %s SET leaf = ? WHERE leaf = ?", table), move[1], move[0])
		}
	}
	for _, column := range []string{"epoch", "stream", "stored"} {
		of := func(leaf int64) int64 { return f.ints("SELECT "+column+" FROM leaves WHERE leaf = ?", leaf)[0] }
		x, y := of(a), of(b)
		f.do("UPDATE leaves SET "+column+" = ? WHERE leaf = ?", y, a)
		f.do("UPDATE leaves SET "+column+" = ? WHERE leaf = ?", x, b)
	}
}

// truncate removes the tail and all rows that only the tail uses.
func truncate(f *file, r *rand.Rand) {
	all := f.ints("SELECT stream FROM leaves WHERE leaf > 0")
	f.cut(pick(r, all))
}

// cut removes the rows of a stream message and of later ones.
func (f *file) cut(stream int64) {
	f.tb.Helper()
	f.do("DELETE FROM leaves WHERE stream >= ?", stream)
	f.do("DELETE FROM seen WHERE stream >= ?", stream)
	for _, table := range []string{"payloads", "chunks"} {
		f.do("DELETE FROM " + table + " WHERE leaf NOT IN (SELECT leaf FROM leaves)")
	}
	f.do("DELETE FROM blobs WHERE blob NOT IN (SELECT blob FROM payloads WHERE blob IS NOT NULL)")
	f.do("DELETE FROM runs WHERE run NOT IN (SELECT run FROM leaves)")
	f.do("DELETE FROM producers WHERE producer NOT IN (SELECT producer FROM leaves UNION SELECT producer FROM seen)")
}
