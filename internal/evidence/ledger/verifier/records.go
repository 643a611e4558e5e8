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

// fact is a record as its bytes say it, read without regard to its leaf.
type fact struct {
	leaf int64
	hash events.Hash
	form form

	split  bool // its row has the content of a chunk apart
	splits bool // it is a chunk whose content the writer takes apart

	tenant, id, producer, run string
	kind                      events.Kind
	time                      string
	sequence                  uint64

	manifest *events.Manifest
	seal     *seal
	gap      *events.GapRecordedData
	order    string // signed by whomever
}

// form is what bytes turned out to be.
type form int

const (
	formUnknown form = iota
	formEvent
	formManifest
)

// side is what the reader of the records found besides them.
type side struct {
	problems  []string
	id        multiset // the indexes, for comparison with the table
	producer  multiset
	run       multiset
	erased    multiset
	seen      multiset
	chunks    multiset // as the records have them
	chunkRows multiset // as the table has them
}

func (s *side) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// records reads payloads, and the indexes behind them, on a connection of its
// own beside the walk over the leaves.
type records struct {
	facts  chan []fact
	group  *errgroup.Group
	cancel context.CancelFunc
	side   side

	conn  *sqlite.Conn
	buf   []byte
	blobs map[int64]bool // that a record refers to
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

// finish waits for the reader to end. Of a walk that failed nobody wants the rest.
func (r *records) finish(failed bool) (*side, error) {
	if failed {
		r.cancel()
	}
	for range r.facts { // until it is closed
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
	defer func() { _ = stmt.Reset() }() // Step has reported what there is
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

// column returns a column in the reader's buffer, which the next call reuses.
func (r *records) column(stmt *sqlite.Stmt, column int) []byte {
	n := stmt.ColumnLen(column)
	if cap(r.buf) < n {
		r.buf = make([]byte, n, 2*n)
	}
	return r.buf[:stmt.ColumnBytes(column, r.buf[:n])]
}

// join puts a chunk back into its event.
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

// decode reads what the record says of itself.
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
	switch f.kind { //nolint:exhaustive // the records that completeness is made of
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

// readableManifest reads a manifest. What no writer takes for one is none, least
// of all for those who count by it.
func readableManifest(data []byte) (events.Manifest, bool) {
	m, err := events.DecodeManifest(data)
	return m, err == nil && m.Validate() == nil && m.Last <= math.MaxInt64
}

// signedOrder returns the signed order that a record of an access has with it.
func signedOrder(e events.Event) string {
	d, err := events.Payload[events.AuditAccessedData](e)
	if err != nil {
		return ""
	}
	return d.Order
}
