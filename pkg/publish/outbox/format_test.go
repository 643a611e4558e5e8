package outbox

import (
	"errors"
	"maps"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

// testdata/outboxes was written by an early version. Outboxes in this format must open without a
// loss.
//
// The outbox "exclusive" has sent the numbers 1 to 12 of acme: two events and a seal for each of
// four runs. Two runs are idle runs on disk. 23 events are unsent, three were shed, and the process
// was killed.
func TestFormat_Exclusive(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, copyDir(t, "testdata/outboxes/exclusive"))
	opts.Tenant, opts.Unique, opts.Quota, opts.Full, opts.runsInMemory = "", true, 8<<10, Shed, 2
	opts.bootID = func() string { return "boot-1" }
	before, err := Inspect(opts.Dir)
	if err != nil || before.Waiting != 23 || before.Tenants["globex"] != 11 || len(before.Gaps) != 2 {
		t.Fatalf("state %+v, error %v", before, err)
	}

	p := mustOpen(t, srv.Connect(t), opts)
	if s := p.Stats(); s.Producer != "test-39792d4c" || s.Damaged != 0 {
		t.Errorf("stats %+v", s)
	}
	for n := range 9 {
		if _, err := p.Append(t.Context(), newEvent(n)); !errors.Is(err, ErrDuplicate) {
			t.Errorf("event %d: got %v, want %v", n, err, ErrDuplicate)
		}
	}
	mustFlush(t, p)
	for n := range 4 { // all runs continue
		e := newEvent(1000 + n)
		e.Run = []string{"run-0", "run-1", "run-2", "run-3"}[n]
		mustAppend(t, p, e)
	}
	mustClose(t, p)

	lost := map[string]uint64{}
	sealed := map[string]uint64{}
	taken := 0
	for _, msg := range srv.Messages(t) {
		a, err := srv.Space().Parse(msg.Subject)
		if err != nil {
			t.Fatal(err)
		}
		if a.Manifest {
			continue
		}
		e, err := events.Decode(msg.Data)
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind() {
		case events.GapRecorded:
			d, err := events.Payload[events.GapRecordedData](e)
			if err != nil {
				t.Fatal(err)
			}
			lost[d.Reason] += d.Last - d.First + 1
		case events.RunSealed:
			d, err := events.Payload[events.RunSealedData](e)
			if err != nil {
				t.Fatal(err)
			}
			sealed[e.Run] = d.Count
		default:
			taken++
		}
	}
	if taken != 23+4 {
		t.Errorf("%d events arrived, want 27", taken)
	}
	if len(lost) != 1 || lost[state.ReasonShed] != 3 {
		t.Errorf("recorded losses %v, want 3 shed events", lost)
	}
	// run-1 of acme also has 12 events that waited.
	want := map[string]uint64{"run-0": 3, "run-1": 15, "run-2": 3, "run-3": 3}
	if !maps.Equal(sealed, want) {
		t.Errorf("sealed with %v events, want %v", sealed, want)
	}
}

func TestFormat_Shared(t *testing.T) {
	srv := natstest.Start(t)
	dir := copyDir(t, "testdata/outboxes/shared")
	mustShare(t, dir, 6, 8)
	mustClose(t, mustOpenShared(t, srv, dir))
	checkShared(t, srv, 8)
}
