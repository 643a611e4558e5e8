package gauntlet

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// One of 100,000 events is deleted at the producer, in the stream and in the ledger. The report
// names the producer, the number and the kind of loss.
//
//guarantee:verify-one-missing
func TestOneOfHundredThousand(t *testing.T) {
	g := newGauntlet(t)
	r := g.random(t.Name())
	w, dir := newWorld(t), t.TempDir()
	producer := fill(t, w, dir)

	lost := cutRecord(t, r, dir)
	p := w.outbox(t, "coder", dir)
	flush(t, p)
	gone, number := deleteOne(t, r, w, lost)
	w.drain(t)

	path := w.ledger(t, tenant)
	want := []verifier.Gap{
		{Producer: producer, First: lost, Last: lost, Cause: verifier.CauseRecorded, Reason: "damaged"},
		{Producer: producer, First: number, Last: number, Cause: verifier.CauseStream},
	}
	slices.SortFunc(want, func(a, b verifier.Gap) int { return int(a.First) - int(b.First) })
	report := verify(t, path, tenant, w.key(t), nil)
	if diff := gocmp.Diff(want, report.Gaps); diff != "" || report.Integrity != verifier.Verified || report.Exit != verifier.ExitIncomplete {
		t.Errorf("%s, message %d deleted, gaps (-want +got):\n%s", report.Integrity, gone, diff)
	}
	if v := pyverify.Start(t); v != nil {
		v.Compare(t, pyverify.Request{Path: path, Key: w.key(t).Public(), Tenant: tenant}, report)
	}

	k := w.key(t)
	kept := []byte(report.Checkpoint.Note)
	removed := removeOne(t, r, path)
	want = append(want, verifier.Gap{Producer: producer, First: removed, Last: removed, Cause: verifier.CauseStream})
	slices.SortFunc(want, func(a, b verifier.Gap) int { return int(a.First) - int(b.First) })
	report = verify(t, path, tenant, k, kept)
	if diff := gocmp.Diff(want, report.Gaps); diff != "" || report.Exit != verifier.ExitInvalid || report.ProblemCount == 0 {
		t.Errorf("%s, gaps (-want +got):\n%s", report.Integrity, diff)
	}
}

func fill(t *testing.T, w *world, dir string) string {
	t.Helper()
	w.server.Stop()
	p, err := publish.Open(deadline(t), w.broker.Conn(), publish.Options{Dir: dir, Name: "coder", Redactor: publish.NoRedaction})
	if err != nil {
		t.Fatal(err)
	}
	const perRun = 1000
	for i := range race.Size(100_000, 10_000) / perRun {
		run := fmt.Sprint("run ", i)
		send(t, p, tenant, run, events.RunStarted, events.RunStartedData{Title: "gauntlet"})
		for n := range perRun - 2 { // events without rows in AgentFS files, which are not attacked here
			send(t, p, tenant, run, events.Custom, events.CustomData{Name: fmt.Sprint("step ", n)})
		}
		send(t, p, tenant, run, events.RunFinished, events.RunFinishedData{Success: true})
	}
	producer := p.Stats().Producer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Close(ctx); err == nil {
		t.Fatal("everything was sent to a server that is away")
	}
	w.server.Restart(t)
	return producer
}

// cutRecord removes a record from the outbox without a trace and returns the number of its event.
func cutRecord(t *testing.T, r *rand.Rand, dir string) uint64 {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, "*", "*.seg"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("segments: %q, %v", segments, err)
	}
	path := pick(r, segments)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const header = 36 // magic, length, ordinal, sequence and checksums
	var at []int
	for i := 0; i+header <= len(data) && string(data[i:i+4]) == "HTR1"; i += header + int(binary.LittleEndian.Uint32(data[i+4:])) {
		at = append(at, i)
	}
	i := 1 + r.IntN(len(at)-2)
	number := binary.LittleEndian.Uint64(data[at[i]+16:])
	if err := os.WriteFile(path, slices.Delete(data, at[i], at[i+1]), 0o600); err != nil {
		t.Fatal(err)
	}
	return number
}

// deleteOne deletes an event from the stream that is not adjacent to the lost one. It returns its
// index and number.
func deleteOne(t *testing.T, r *rand.Rand, w *world, lost uint64) (place, number uint64) {
	t.Helper()
	stream := w.stream(t)
	for {
		place = 1 + r.Uint64N(stream.CachedInfo().State.LastSeq)
		m, err := stream.GetMsg(deadline(t), place)
		if err != nil {
			t.Fatal(err)
		}
		e, err := events.Decode(m.Data)
		if err != nil || e.Kind() != events.Custom || e.Sequence+1 >= lost && e.Sequence <= lost+1 {
			continue // not an event
		}
		if err := stream.DeleteMsg(deadline(t), place); err != nil {
			t.Fatal(err)
		}
		return place, e.Sequence
	}
}

// removeOne deletes an event from the ledger, renumbers the leaves and recomputes all hashes.
func removeOne(t *testing.T, r *rand.Rand, path string) uint64 {
	t.Helper()
	f := open(t, path)
	defer f.close(t)
	f.do("PRAGMA synchronous=OFF")
	before := f.ints("SELECT sequence FROM leaves WHERE class = 'event' ORDER BY sequence")
	f.do("BEGIN")
	remove(f, r)
	f.repair(nil)
	f.do("COMMIT")
	after := f.ints("SELECT sequence FROM leaves WHERE class = 'event' ORDER BY sequence")
	for i, n := range after {
		if before[i] != n {
			return uint64(before[i])
		}
	}
	return uint64(before[len(before)-1])
}
