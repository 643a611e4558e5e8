package verifier

import (
	"bytes"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type row struct {
	leaf, producer, run, sequence int64
	fields                        ledger.LeafFields[[]byte]
	producerName, runName         string
	hash                          []byte
}

func (w *walk) nextLeaf() error {
	s := w.leaves
	r := row{
		leaf: s.ColumnInt64(0), producer: s.ColumnInt64(3), sequence: s.ColumnInt64(4), run: s.ColumnInt64(5),
		hash: w.bytes(s, 8, 0),
	}
	if r.leaf != w.tree.size {
		w.v.report.AddProblem("leaf %d is where leaf %d should be", r.leaf, w.tree.size)
	}
	var ok, ok2 bool
	r.producerName, ok = w.names.producer(r.producer)
	r.runName, ok2 = w.names.run(r.run)
	if !ok || !ok2 || len(r.hash) != len(events.Hash{}) || r.sequence < 0 {
		w.v.report.AddProblem("leaf %d names no producer, run, number or hash that there is", r.leaf)
		r.hash = make([]byte, len(events.Hash{}))
	}
	r.fields = ledger.LeafFields[[]byte]{
		Class: w.bytes(s, 1, 1), ID: w.bytes(s, 2, 2), Producer: append(w.buf[3][:0], r.producerName...),
		Sequence: uint64(r.sequence), Run: append(w.buf[4][:0], r.runName...),
		Kind: w.bytes(s, 6, 5), Time: w.bytes(s, 7, 6), Finding: w.bytes(s, 9, 7),
	}
	w.buf[3], w.buf[4] = r.fields.Producer, r.fields.Run
	w.leaf = ledger.AppendLeaf(w.leaf[:0], r.fields, r.hash)
	same, err := w.tree.add(w.leaf)
	if err != nil {
		return err
	}
	if !same {
		w.v.report.AddProblem("leaf %d differs from the tree's stored hashes", r.leaf)
	}
	a := ledger.Arrival{Leaf: r.leaf, Epoch: s.ColumnInt64(10), Stream: s.ColumnInt64(11), Stored: s.ColumnInt64(12)}
	w.arrive(a, events.Hash(r.hash))
	w.index(r)
	w.classes[ledger.Class(r.fields.Class)]++
	return w.record(r, a)
}

func (w *walk) record(r row, a ledger.Arrival) error {
	removal, err := w.removals.of(r.leaf)
	if err != nil {
		return err
	}
	f, ok := w.queue.next(r.leaf)
	switch {
	case ok && removal.Done():
		w.v.report.AddProblem("leaf %d: its record is there, and is said to be %s", r.leaf, removal.Word)
	case !ok && !removal.Done():
		w.v.report.AddProblem("leaf %d: its record is missing", r.leaf)
		return nil
	case !ok: // the walk checks the order at its leaf
		w.facts.leaf(r, fact{leaf: r.leaf, hash: events.Hash(r.hash)}, a)
		return nil
	}
	w.compare(r, f)
	w.facts.leaf(r, f, a)
	if f.order == "" || string(r.fields.Class) != string(ledger.ClassEvent) {
		return nil
	}
	return w.orders.order(r.leaf, f.order, timeOf(a.Stored))
}

func (w *walk) index(r row) {
	if string(r.fields.Class) == string(ledger.ClassEvent) {
		w.indexed.id.add(r.fields.ID, r.leaf)
	}
	w.indexed.producer.add(nil, r.producer, r.sequence, r.leaf)
	w.indexed.run.add(nil, r.run, r.leaf)
}

func (w *walk) compare(r row, f fact) {
	if !bytes.Equal(r.hash, f.hash[:]) {
		w.v.report.AddProblem("leaf %d: its record was altered", r.leaf)
		return
	}
	if !fits(r, f) {
		w.v.report.AddProblem("leaf %d says something else than its record", r.leaf)
	}
	if f.split != (f.splits && string(r.fields.Class) == string(ledger.ClassEvent)) {
		w.v.report.AddProblem("leaf %d: its record lies in the tables as no writer puts it there", r.leaf)
	}
	if f.form != formUnknown && f.tenant != w.signed.tenant && string(r.fields.Class) != string(ledger.ClassQuarantine) {
		w.v.report.AddProblem("leaf %d belongs to another tenant", r.leaf)
	}
}

func fits(r row, f fact) bool {
	l := r.fields
	switch ledger.Class(l.Class) {
	case ledger.ClassEvent:
		return len(l.Finding) == 0 && fitsEvent(r, f)
	case ledger.ClassConflict:
		return len(l.Finding) > 0 && fitsEvent(r, f)
	case ledger.ClassManifest:
		empty := r.run == 0 && len(l.ID)+len(l.Kind)+len(l.Time)+len(l.Finding) == 0
		return empty && f.form == formManifest && f.producer == r.producerName && f.sequence == l.Sequence
	case ledger.ClassQuarantine:
		return len(l.Finding) > 0 && len(l.ID)+len(l.Time)+int(l.Sequence) == 0
	}
	return false
}

func fitsEvent(r row, f fact) bool {
	l := r.fields
	return f.form == formEvent && f.id == string(l.ID) && f.producer == r.producerName && f.sequence == l.Sequence &&
		f.run == r.runName && string(f.kind) == string(l.Kind) && f.time == string(l.Time)
}
