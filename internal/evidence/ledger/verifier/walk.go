package verifier

import (
	"context"
	"errors"
	"math"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type walk struct {
	v     *verifier
	names *names
	queue recordQueue
	facts *completeness

	leaves, again *sqlite.Stmt
	hashes        *storedHashes
	signed        *signedCheckpoints
	removals      *removals
	orders        *orders

	tree     checkedTree
	arrivals arrivals
	newest   int64 // latest time of storage
	hasAgain bool

	nextStamp int // first time stamp that was not compared yet

	buf  [8][]byte
	leaf []byte

	indexed  indexed // entries that the indexes should have
	expected int64
	classes  map[ledger.Class]int64
}

type indexed struct{ id, producer, run, seen multiset }

func newWalk(v *verifier, conn *sqlite.Conn, n *names, r *records) *walk {
	w := &walk{
		v: v, names: n, queue: recordQueue{v: v, records: r}, facts: newCompleteness(conn),
		leaves: conn.Prep(`SELECT leaf, class, id, producer, sequence, run, kind, time, hash, finding, epoch, stream, stored
			FROM leaves NOT INDEXED ORDER BY leaf`),
		again: conn.Prep(`SELECT seen, leaf, producer, sequence, hash, epoch, stream, stored
			FROM seen NOT INDEXED ORDER BY seen`),
		hashes:  &storedHashes{stmt: conn.Prep("SELECT chunk, bytes FROM hashes ORDER BY chunk")},
		signed:  newSignedCheckpoints(v, conn),
		classes: make(map[ledger.Class]int64),
	}
	w.facts.found.known, w.facts.keys, w.facts.issuers = v.foreign, v.keys, v.issuers
	w.tree.stored = w.hashes
	w.removals, w.orders = newRemovals(v, conn), &orders{w: w, orderLog: newOrderLog(v.keys)}
	w.facts.acknowledged = w.orders.acknowledged
	return w
}

func (w *walk) all(ctx context.Context) (err error) {
	defer func() {
		err = errors.Join(err, w.signed.close())
		for _, stmt := range [...]*sqlite.Stmt{w.leaves, w.again, w.hashes.stmt, w.removals.stmt} {
			_ = stmt.Reset() // Step has returned the error
		}
	}()
	if err := w.nextAgain(); err != nil {
		return err
	}
	if err := w.removals.next(); err != nil {
		return err
	}
	if err := w.arrived(); err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		row, err := w.leaves.Step()
		if err != nil {
			return err
		}
		if err := w.againBefore(row); err != nil {
			return err
		}
		if !row {
			break
		}
		if err := w.nextLeaf(); err != nil {
			return err
		}
		w.progress()
		if err := w.arrived(); err != nil {
			return err
		}
	}
	return w.end()
}

func (w *walk) arrived() error {
	w.compareTrusted()
	w.compareStamps()
	return w.checkpoints()
}

func (w *walk) streamPosition(row bool) (epoch, stream int64) {
	if !row {
		return math.MaxInt64, math.MaxInt64
	}
	return w.leaves.ColumnInt64(10), w.leaves.ColumnInt64(11)
}

func (w *walk) againBefore(row bool) error {
	epoch, stream := w.streamPosition(row)
	for w.hasAgain {
		e, s := w.again.ColumnInt64(5), w.again.ColumnInt64(6)
		if e > epoch || e == epoch && s > stream {
			return nil
		}
		if err := w.takeAgain(); err != nil {
			return err
		}
		if err := w.arrived(); err != nil {
			return err
		}
		if err := w.nextAgain(); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) nextAgain() (err error) {
	w.hasAgain, err = w.again.Step()
	return err
}

func (w *walk) takeAgain() error {
	number := w.again.ColumnInt64(0)
	a := ledger.Arrival{
		Leaf: w.again.ColumnInt64(1), Epoch: w.again.ColumnInt64(5), Stream: w.again.ColumnInt64(6),
		Stored: w.again.ColumnInt64(7), Repeated: true, Sequence: w.again.ColumnInt64(3), Hash: w.bytes(w.again, 4, 0),
	}
	producer := w.again.ColumnInt64(2)
	name, ok := w.names.producer(producer)
	a.Producer = name
	w.v.report.SeenAgain++
	if number != w.v.report.SeenAgain {
		w.v.report.AddProblem("seen again: row %d is where row %d should be", number, w.v.report.SeenAgain)
	}
	if !ok || len(a.Hash) != len(events.Hash{}) || a.Leaf < 0 || a.Leaf >= w.tree.size {
		w.v.report.AddProblem("seen again: row %d names no producer, hash or leaf that there is", number)
		return nil
	}
	w.arrive(a, events.Hash(a.Hash))
	w.indexed.seen.add(nil, producer, a.Sequence, number)
	return w.facts.again(producer, a)
}

func (w *walk) arrive(a ledger.Arrival, hash events.Hash) {
	w.newest = max(w.newest, a.Stored)
	if !w.arrivals.add(a, hash) {
		w.v.report.AddProblem("leaf %d: its message is not behind the one before it in the stream", a.Leaf)
	}
}

func (w *walk) bytes(stmt *sqlite.Stmt, column, buffer int) []byte {
	n := stmt.ColumnLen(column)
	if cap(w.buf[buffer]) < n {
		w.buf[buffer] = make([]byte, n, n+64)
	}
	return w.buf[buffer][:stmt.ColumnBytes(column, w.buf[buffer][:n])]
}

func (w *walk) end() error {
	w.queue.end()
	if more, err := w.hashes.end(); err != nil {
		return err
	} else if more != "" {
		w.v.report.AddProblem("%s", more)
	}
	if err := w.checkpointsBehind(); err != nil {
		return err
	}
	if err := w.orders.end(); err != nil {
		return err
	}
	if err := w.removals.end(w.tree.size); err != nil {
		return err
	}
	w.names.unused(w.v)
	w.v.report.Leaves, w.v.report.Newest = w.tree.size, timeOf(w.newest)
	w.v.report.Events = w.classes[ledger.ClassEvent]
	w.v.report.Manifests = w.classes[ledger.ClassManifest]
	w.v.report.SetApart = w.classes[ledger.ClassConflict] + w.classes[ledger.ClassQuarantine]
	return nil
}

const leavesPerProgress = 1 << 12

func expected(conn *sqlite.Conn) (int64, error) {
	return sqlitetx.Int(conn, "SELECT size FROM checkpoints ORDER BY checkpoint DESC LIMIT 1")
}

func (w *walk) progress() {
	if w.v.opts.Progress != nil && (w.tree.size%leavesPerProgress == 0 || w.tree.size == w.expected) {
		w.v.opts.Progress(w.tree.size, w.expected)
	}
}
