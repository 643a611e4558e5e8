package verifier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"

	"golang.org/x/sync/errgroup"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// fact is the contents of a record, read independently of its leaf.
type fact struct {
	leaf int64
	hash events.Hash
	form form

	split  bool // the row stores the content of a chunk separately
	splits bool // the writer stores the content of this chunk separately

	tenant, id, producer, run string
	kind                      events.Kind
	time                      string
	sequence                  uint64

	manifest *events.Manifest
	seal     *seal
	gap      *events.GapRecordedData
	order    string // a signed order, not checked
}

// form is the form of a record.
type form int

const (
	formUnknown form = iota
	formEvent
	formManifest
)

// side is the findings of the reader of the records.
type side struct {
	problems  []string
	id        multiset // the indexes, to compare with the tables
	producer  multiset
	run       multiset
	erased    multiset
	seen      multiset
	chunks    multiset // from the records
	chunkRows multiset // from the table
}

func (s *side) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// records reads payloads and then the indexes on its own connection, in parallel with the
// walk.
type records struct {
	facts  chan []fact
	group  *errgroup.Group
	cancel context.CancelFunc
	side   side

	conn  *sqlite.Conn
	buf   []byte
	blobs map[int64]bool // blobs that a record refers to
}

const factsPerBatch = 256

func readRecords(ctx context.Context, conn *sqlite.Conn) *records {
	ctx, cancel := context.WithCancel(ctx)
	r := &records{facts: make(chan []fact, 4), cancel: cancel, conn: conn, blobs: make(map[int64]bool)}
	r.group, ctx = errgroup.WithContext(ctx)
	r.group.Go(func() error {
		err := r.payloads(ctx)
		close(r.facts)
		if err != nil {
			return err
		}
		return r.indexes()
	})
	return r
}

// finish waits for the reader. After a failed walk it cancels the reader.
func (r *records) finish(failed bool) (*side, error) {
	if failed {
		r.cancel()
	}
	for range r.facts { // drain until the reader closes it
	}
	err := r.group.Wait()
	r.cancel()
	if failed && errors.Is(err, context.Canceled) {
		err = nil
	}
	return &r.side, err
}

// payloads sends the facts of all records.
func (r *records) payloads(ctx context.Context) error {
	batch := make([]fact, 0, factsPerBatch)
	stmt, err := r.conn.Prepare("SELECT leaf, bytes, blob, cut FROM payloads ORDER BY leaf")
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Reset() }() // Step has returned the error
	for {
		row, err := stmt.Step()
		if err != nil {
			return err
		}
		if !row {
			break
		}
		f, err := r.fact(stmt)
		if err != nil {
			return err
		}
		if batch = append(batch, f); len(batch) == factsPerBatch {
			if err := r.send(ctx, batch); err != nil {
				return err
			}
			batch = make([]fact, 0, factsPerBatch)
		}
	}
	return r.send(ctx, batch)
}

func (r *records) send(ctx context.Context, batch []fact) error {
	select {
	case r.facts <- batch:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *records) fact(stmt *sqlite.Stmt) (fact, error) {
	f := fact{leaf: stmt.ColumnInt64(0)}
	data := r.column(stmt, 1)
	f.split = !stmt.ColumnIsNull(2)
	if f.split == stmt.ColumnIsNull(3) {
		r.side.problem("leaf %d: either the content of its chunk or its place is not named", f.leaf)
	}
	cut := stmt.ColumnInt64(3)
	if f.split {
		var err error
		if data, err = r.join(f.leaf, data, stmt.ColumnInt64(2), cut); err != nil {
			return f, err
		}
	}
	f.hash = events.HashOf(data)
	r.decode(&f, data, cut)
	return f, nil
}

// column returns a column in a buffer that the next call reuses.
func (r *records) column(stmt *sqlite.Stmt, column int) []byte {
	n := stmt.ColumnLen(column)
	if cap(r.buf) < n {
		r.buf = make([]byte, n, 2*n)
	}
	return r.buf[:stmt.ColumnBytes(column, r.buf[:n])]
}

// join puts the content of a chunk back into its event.
func (r *records) join(leaf int64, data []byte, blob, cut int64) ([]byte, error) {
	var content []byte
	var found bool
	err := sqlitex.Execute(r.conn, "SELECT hash, content FROM blobs WHERE blob = ?", &sqlitex.ExecOptions{
		Args: []any{blob},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			found = true
			content = sqlitetx.Bytes(stmt, 1)
			if hash := events.HashOf(content); !bytes.Equal(sqlitetx.Bytes(stmt, 0), hash[:]) {
				r.side.problem("blob %d: its content differs from its hash", blob)
			}
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	if !found || cut < 0 || cut > int64(len(data)) {
		r.side.problem("leaf %d: the content of its chunk is missing", leaf)
		return data, nil
	}
	r.blobs[blob] = true
	return ledger.InsertContent(data, int(cut), content), nil
}

// decode decodes a record into f.
func (r *records) decode(f *fact, data []byte, cut int64) {
	e, err := events.Decode(data)
	if err != nil {
		if m, ok := readableManifest(data); ok {
			f.form, f.manifest = formManifest, &m
			f.tenant, f.producer, f.sequence = m.Tenant, m.Producer, m.Last
		}
		return
	}
	f.form, f.tenant, f.id, f.producer, f.run = formEvent, e.Tenant, e.ID, e.Producer, e.Run
	f.kind, f.time, f.sequence = e.Kind(), ledger.FormatTime(e.Time), e.Sequence
	switch f.kind { //nolint:exhaustive // only these kinds count for completeness
	case events.RunSealed:
		if d, err := events.Payload[events.RunSealedData](e); err == nil {
			f.seal = &seal{RunSealedData: d, own: e.ID == d.ID(e.Tenant, e.Producer, e.Run)}
		}
	case events.GapRecorded:
		if d, err := events.Payload[events.GapRecordedData](e); err == nil {
			f.gap = &d
		}
	case events.AuditAccessed:
		f.order = signedOrder(e)
	case events.BlobChunk:
		c, ok := ledger.CutChunk(e, data)
		f.splits = ok
		if !f.split || !ok {
			return
		}
		if int64(c.Cut) != cut {
			r.side.problem("leaf %d: the content of its chunk was taken from another place", f.leaf)
		}
		r.side.chunks.add(c.Whole[:], c.Part, f.leaf)
	}
}

// readableManifest decodes a manifest. It accepts only manifests that the writer accepts.
func readableManifest(data []byte) (events.Manifest, bool) {
	m, err := events.DecodeManifest(data)
	return m, err == nil && m.Validate() == nil && m.Last <= math.MaxInt64
}

// signedOrder returns the signed order in an audit.accessed event.
func signedOrder(e events.Event) string {
	d, err := events.Payload[events.AuditAccessedData](e)
	if err != nil {
		return ""
	}
	return d.Order
}

// recordQueue hands the records of the reader to the walk, leaf by leaf. It owns the batch
// of records that the walk has not used yet.
type recordQueue struct {
	v       *verifier
	records *records
	pending []fact
}

// next returns the record of a leaf, if there is one. It reports the records that it
// passes over, because they have no leaf.
func (q *recordQueue) next(leaf int64) (fact, bool) {
	for {
		if len(q.pending) == 0 {
			batch, ok := <-q.records.facts
			if !ok {
				return fact{}, false
			}
			q.pending = batch
			continue
		}
		f := q.pending[0]
		if f.leaf > leaf {
			return fact{}, false
		}
		q.pending = q.pending[1:]
		if f.leaf == leaf {
			return f, true
		}
		q.v.problem("a record of leaf %d is there and the leaf is not", f.leaf)
	}
}

// end reports the records after the last leaf.
func (q *recordQueue) end() {
	if f, ok := q.next(math.MaxInt64); ok {
		q.v.problem("a record of leaf %d is there and the leaf is not", f.leaf)
	}
}
