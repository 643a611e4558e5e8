package tracker

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// BenchmarkReader_Apply folds batches of 1000 events, of which one in ten is considered, as in
// recorded sessions.
func BenchmarkReader_Apply(b *testing.B) {
	dir := b.TempDir()
	db := openDB(b, dir)
	defer db.Close()
	opts := Options{backend: beads.NewStore(db, filepath.Join(dir, "beads"))}.withDefaults()
	r := &reader{
		db: db, marks: new(consume.Marks), opts: opts,
		settler: newSettler(opts, db, make(countingOutbox)),
	}
	const size = 1000
	seq := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		batch := make([]consume.Message, 0, size)
		for range size {
			seq++
			tenant, run := "acme", fmt.Sprintf("r%d", seq%20)
			e := rulestest.At(b, tenant, run, int(seq), events.ToolBefore, events.ToolBeforeData{Tool: "Bash"})
			if seq/20%10 == 0 {
				e = rulestest.StepAt(b, tenant, run, int(seq), fmt.Sprint(seq), events.StepCompleted, "Implemented the cache and its tests.")
			}
			e.Producer, e.Sequence, e.Salt = "p", seq, "AAAAAAAAAAAAAAAAAAAAAA"
			batch = append(batch, consume.Message{
				Sequence: seq, Data: e.Append(nil),
				Address: subjects.Address{Tenant: tenant, Producer: "p", Run: run, Kind: e.Kind()},
			})
		}
		b.StartTimer()
		if err := r.Apply(b.Context(), batch, consume.Position{Sequence: seq}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/size, "ns/event")
}
