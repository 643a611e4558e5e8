package verifier

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

type entry struct {
	text    []byte
	numbers []int64
}

func (e *entry) read(stmt *sqlite.Stmt, hasText bool) {
	column := 0
	if hasText {
		n := stmt.ColumnLen(0)
		e.text = slices.Grow(e.text[:0], n)[:n]
		stmt.ColumnBytes(0, e.text)
		column = 1
	}
	e.numbers = e.numbers[:0]
	for ; column < stmt.ColumnCount(); column++ {
		e.numbers = append(e.numbers, stmt.ColumnInt64(column))
	}
}

func (e *entry) before(o *entry) bool {
	if order := bytes.Compare(e.text, o.text); order != 0 {
		return order < 0
	}
	return slices.Compare(e.numbers, o.numbers) < 0
}

func (r *records) indexes() error {
	for _, x := range [...]struct {
		what, query string
		hasText     bool
		into        *multiset
	}{
		{"ids", "SELECT id, leaf FROM leaves INDEXED BY leaves_id WHERE class = 'event' ORDER BY id", true, &r.side.id},
		{
			"producers' numbers", "SELECT producer, sequence, leaf FROM leaves INDEXED BY leaves_producer ORDER BY producer, sequence",
			false, &r.side.producer,
		},
		{"runs", "SELECT run, leaf FROM leaves INDEXED BY leaves_run ORDER BY run, leaf", false, &r.side.run},
		{
			"what was seen again", "SELECT producer, sequence, seen FROM seen INDEXED BY seen_producer ORDER BY producer, sequence",
			false, &r.side.seen,
		},
		{"what was erased", "SELECT ordered, leaf FROM erased INDEXED BY erased_ordered ORDER BY ordered, leaf", false, &r.side.erased},
		{"chunks", "SELECT whole, part, leaf FROM chunks ORDER BY whole, part, leaf", true, &r.side.chunkRows},
	} {
		if err := r.index(x.what, x.query, x.hasText, x.into); err != nil {
			return err
		}
	}
	return r.blobIndex()
}

// index also checks the order of the entries in an index, because SQLite's own check does not.
func (r *records) index(what, query string, hasText bool, into *multiset) error {
	var last, e entry
	first, ascending := true, true
	err := r.rows(query, func(stmt *sqlite.Stmt) {
		e.read(stmt, hasText)
		into.add(e.text, e.numbers...)
		ascending = ascending && (first || last.before(&e))
		first = false
		last, e = e, last
	})
	if err == nil && !ascending {
		r.side.problem("the index of %s is out of order", what)
	}
	return err
}

func (r *records) rows(query string, row func(*sqlite.Stmt)) error {
	return sqlitex.Execute(r.conn, query, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error { row(stmt); return nil },
	})
}

func (r *records) blobIndex() error {
	var table, byHash multiset
	err := r.rows("SELECT hash, blob FROM blobs NOT INDEXED ORDER BY blob", func(stmt *sqlite.Stmt) {
		table.add(r.column(stmt, 0), stmt.ColumnInt64(1))
		if !r.blobs[stmt.ColumnInt64(1)] {
			r.side.problem("blob %d belongs to no leaf", stmt.ColumnInt64(1))
		}
	})
	if err != nil {
		return err
	}
	err = r.index("blobs", "SELECT hash, blob FROM blobs INDEXED BY sqlite_autoindex_blobs_1 ORDER BY hash", true, &byHash)
	if err == nil && !table.equal(&byHash) {
		r.side.problem("the index of blobs differs from the table")
	}
	return err
}

// seed is random, so that an attacker cannot construct different multisets with the same sum.
var seed = maphash.MakeSeed() //nolint:gochecknoglobals // one for both sides of every comparison

type multiset struct {
	count int64
	sum   uint64
	buf   []byte
}

func (m *multiset) add(text []byte, numbers ...int64) {
	b := append(m.buf[:0], text...)
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	m.buf = b
	m.count++
	m.sum += maphash.Bytes(seed, b)
}

func (m *multiset) equal(o *multiset) bool { return m.count == o.count && m.sum == o.sum }
