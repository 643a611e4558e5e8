package gauntlet

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// forged is what an attacker needs to repair a changed ledger, computed from the tables without the
// code of the ledger.
type forged struct {
	tree     []tlog.Hash // in tlog's order
	arrivals []arrived
}

// arrived is what a leaf or a repetition adds to the digest.
type arrived struct {
	leaf, epoch, stream, stored int64
	again                       bool
	producer                    string
	sequence                    int64
	hash                        []byte
}

// repair recomputes the hashes of the tree from the leaves. With a signer it also signs all
// checkpoints again.
func (f *file) repair(signer note.Signer) {
	f.tb.Helper()
	var k forged
	f.rows(`SELECT l.leaf, l.class, l.id, coalesce(p.name, ''), l.sequence, coalesce(r.name, ''), l.kind, l.time, l.hash, l.finding,
		l.epoch, l.stream, l.stored FROM leaves l LEFT JOIN producers p USING (producer) LEFT JOIN runs r ON r.run = l.run ORDER BY l.leaf`,
		func(stmt *sqlite.Stmt) { k.leaf(f.tb, stmt) })
	f.rows(`SELECT s.leaf, s.epoch, s.stream, s.stored, p.name, s.sequence, s.hash FROM seen s JOIN producers p USING (producer) ORDER BY seen`,
		func(stmt *sqlite.Stmt) { k.again(stmt) })
	const perRow = 256
	f.do("DELETE FROM hashes")
	for i := 0; i < len(k.tree); i += perRow {
		var row []byte
		for _, h := range k.tree[i:min(i+perRow, len(k.tree))] {
			row = append(row, h[:]...)
		}
		f.do("INSERT INTO hashes (chunk, bytes) VALUES (?, ?)", i/perRow, row)
	}
	if signer != nil {
		f.sign(&k, signer)
	}
}

func (k *forged) leaf(tb testing.TB, stmt *sqlite.Stmt) {
	tb.Helper()
	l := ledger.Leaf{
		Class: ledger.Class(stmt.ColumnText(1)), ID: stmt.ColumnText(2), Producer: stmt.ColumnText(3),
		Sequence: uint64(stmt.ColumnInt64(4)), Run: stmt.ColumnText(5), Kind: events.Kind(stmt.ColumnText(6)),
		Hash: events.Hash(sqlitetx.Bytes(stmt, 8)), Finding: ledger.Finding(stmt.ColumnText(9)),
	}
	if text := stmt.ColumnText(7); text != "" {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			tb.Fatal(err)
		}
		l.Time = at
	}
	n := int64(len(k.arrivals))
	hashes, err := tlog.StoredHashes(n, l.Encode(), tlog.HashReaderFunc(k.read))
	if err != nil {
		tb.Fatal(err)
	}
	k.tree = append(k.tree, hashes...)
	k.arrivals = append(k.arrivals, arrived{
		leaf: n, epoch: stmt.ColumnInt64(10), stream: stmt.ColumnInt64(11), stored: stmt.ColumnInt64(12), hash: sqlitetx.Bytes(stmt, 8),
	})
}

// again assigns the repetitions to their positions among the leaves.
func (k *forged) again(stmt *sqlite.Stmt) {
	a := arrived{
		leaf: stmt.ColumnInt64(0), epoch: stmt.ColumnInt64(1), stream: stmt.ColumnInt64(2), stored: stmt.ColumnInt64(3),
		again: true, producer: stmt.ColumnText(4), sequence: stmt.ColumnInt64(5), hash: sqlitetx.Bytes(stmt, 6),
	}
	at := len(k.arrivals)
	for at > 0 && a.before(k.arrivals[at-1]) {
		at--
	}
	k.arrivals = append(k.arrivals[:at], append([]arrived{a}, k.arrivals[at:]...)...)
}

func (a arrived) before(b arrived) bool {
	return a.epoch < b.epoch || a.epoch == b.epoch && a.stream < b.stream
}

func (k *forged) read(indexes []int64) ([]tlog.Hash, error) {
	list := make([]tlog.Hash, len(indexes))
	for i, n := range indexes {
		list[i] = k.tree[n]
	}
	return list, nil
}

// sign signs the checkpoints again, without those that cover nothing new.
func (f *file) sign(k *forged, signer note.Signer) {
	f.tb.Helper()
	notes := f.texts("SELECT note FROM checkpoints ORDER BY checkpoint")
	f.do("DELETE FROM checkpoints")
	var newest ledger.Checkpoint
	done := 0
	for i, text := range notes {
		was, err := ledger.ReadCheckpoint([]byte(text))
		if err != nil {
			f.tb.Fatal(err)
		}
		c := newest
		end := arrived{epoch: int64(was.Position.Epoch), stream: int64(was.Position.Sequence)}
		for ; done < len(k.arrivals) && (i == len(notes)-1 || !end.before(k.arrivals[done])); done++ {
			k.arrivals[done].into(&c)
		}
		if i > 0 && c.Arrivals == newest.Arrivals {
			continue
		}
		c.Tenant, c.Number, c.Time = was.Tenant, newest.Number+1, was.Time
		c.Position.Stream = was.Position.Stream
		if c.Root, err = tlog.TreeHash(c.Size, tlog.HashReaderFunc(k.read)); err != nil {
			f.tb.Fatal(err)
		}
		signed, err := c.Sign(signer)
		if err != nil {
			f.tb.Fatal(err)
		}
		f.do("INSERT INTO checkpoints (checkpoint, size, note) VALUES (?, ?, ?)", c.Number, c.Size, string(signed))
		newest = c
	}
}

func (a arrived) into(c *ledger.Checkpoint) {
	b := append([]byte(nil), c.Digest[:]...)
	b = append(b, 0)
	if a.again {
		b[len(b)-1] = 1
	} else {
		c.Size++
	}
	for _, n := range [...]int64{a.leaf, a.epoch, a.stream, a.stored} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	if a.again {
		b = binary.BigEndian.AppendUint64(b, uint64(a.sequence))
		b = append(append(b, a.hash...), a.producer...)
	}
	c.Digest = sha256.Sum256(b)
	c.Arrivals++
	c.Position.Epoch, c.Position.Sequence, c.Position.Hash = uint64(a.epoch), uint64(a.stream), events.Hash(a.hash)
}
