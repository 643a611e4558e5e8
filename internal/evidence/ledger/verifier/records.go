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

type fact struct {
	leaf int64
	hash events.Hash
	form form

	split  bool // the row has the content of a chunk in blobs
	splits bool // the writer would put it there

	tenant, id, producer, run string
	kind                      events.Kind
	time                      string
	sequence                  uint64

	manifest  *events.Manifest
	signature signature // of the manifest
	granted   bool      // the issuer signed the grant in the manifest
	seal      *seal
	gap       *events.GapRecordedData
	lost      *events.ProducerLostData
	order     string
	call      *call
	recording recording // set for an export if another event has the same id
}

type form int

const (
	formUnknown form = iota
	formEvent
	formManifest
)

type side struct {
	problems  []string
	id        multiset // id, producer, run, erased and seen come from indexes
	producer  multiset
	run       multiset
	erased    multiset
	seen      multiset
	chunks    multiset // computed from the records
	chunkRows multiset
}

func (s *side) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

type records struct {
	facts  chan []fact
	group  *errgroup.Group
	cancel context.CancelFunc
	side   side

	conn  *sqlite.Conn
	buf   []byte
	blobs map[int64]bool
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

func (r *records) finish(failed bool) (*side, error) {
	if failed {
		r.cancel()
	}
	for range r.facts { // unblocks the reader
	}
	err := r.group.Wait()
	r.cancel()
	if failed && errors.Is(err, context.Canceled) {
		err = nil
	}
	return &r.side, err
}

func (r *records) payloads(ctx context.Context) error {
	batch := make([]fact, 0, factsPerBatch)
	err := sqlitex.Execute(r.conn, "SELECT leaf, bytes, blob, cut FROM payloads ORDER BY leaf", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			f, err := r.fact(stmt)
			if err != nil {
				return err
			}
			if batch = append(batch, f); len(batch) < factsPerBatch {
				return nil
			}
			full := batch
			batch = make([]fact, 0, factsPerBatch)
			return r.send(ctx, full)
		},
	})
	if err != nil {
		return err
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
	if c := f.decode(data); f.split && f.splits {
		if int64(c.Cut) != cut {
			r.side.problem("leaf %d: the content of its chunk was taken from another place", f.leaf)
		}
		r.side.chunks.add(c.Whole[:], c.Part, f.leaf)
	}
	return f, nil
}

// column returns bytes that are only valid until the next call.
func (r *records) column(stmt *sqlite.Stmt, column int) []byte {
	n := stmt.ColumnLen(column)
	if cap(r.buf) < n {
		r.buf = make([]byte, n, 2*n)
	}
	return r.buf[:stmt.ColumnBytes(column, r.buf[:n])]
}

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

func (f *fact) decode(data []byte) (c ledger.Chunk) {
	e, err := events.Decode(data)
	if err != nil {
		if m, ok := readableManifest(data); ok {
			f.form, f.manifest, f.signature, f.granted = formManifest, &m, signatureOf(m), isGranted(m.Grant)
			f.tenant, f.producer, f.sequence = m.Tenant, m.Producer, m.Last
		}
		return c
	}
	f.form, f.tenant, f.id, f.producer, f.run = formEvent, e.Tenant, e.ID, e.Producer, e.Run
	f.kind, f.time, f.sequence = e.Kind(), ledger.FormatTime(e.Time), e.Sequence
	switch f.kind { //nolint:exhaustive // the other kinds need no payload
	case events.ToolBefore, events.Approval, events.ToolResult:
		f.call = callOf(e)
	case events.RunSealed:
		if d, ok := ledger.SealIn(e); ok {
			f.seal = &seal{RunSealedData: d, own: e.ID == d.ID(e.Tenant, e.Producer, e.Run)}
		}
	case events.GapRecorded:
		if d, ok := ledger.GapIn(e); ok {
			f.gap = &d
		}
	case events.ProducerLost:
		if d, ok := ledger.LossIn(e); ok {
			f.lost = &d
		}
	case events.AuditAccessed:
		f.order = ledger.OrderIn(e)
	case events.BlobChunk:
		c, f.splits = ledger.CutChunk(e, data)
	}
	return c
}

// readableManifest must accept all manifests that the writer does not put in quarantine.
func readableManifest(data []byte) (events.Manifest, bool) {
	m, err := events.DecodeManifest(data)
	return m, err == nil && m.Validate() == nil && m.Last <= math.MaxInt64
}

type recordQueue struct {
	v       *verifier
	records *records
	pending []fact
}

// next drops the facts of lower leaves, so it must be called with ascending leaves.
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
		q.v.report.AddProblem("a record of leaf %d is there and the leaf is not", f.leaf)
	}
}

func (q *recordQueue) end() {
	if f, ok := q.next(math.MaxInt64); ok {
		q.v.report.AddProblem("a record of leaf %d is there and the leaf is not", f.leaf)
	}
}
