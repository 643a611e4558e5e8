package outbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

// The damage of a complete record is always recorded.
//
//guarantee:outbox-damaged
func TestRecover_Damage(t *testing.T) {
	for name, tt := range map[string]struct {
		record, offset int // of the damaged byte; from the end if negative
		renumbered     bool
	}{
		"Body":        {record: 4, offset: -10},
		"Header":      {record: 4, offset: 9},
		"Magic":       {record: 4, offset: 1},
		"Tenant":      {record: 4, offset: segment.HeaderBytes + 18},
		"FirstHeader": {record: 0, offset: 9},
		"LastBody":    {record: 9, offset: -10},
		"LastHeader":  {record: 9, offset: 9, renumbered: true},
	} {
		t.Run(name, func(t *testing.T) {
			srv := natstest.Start(t)
			opts := testOptions(t, t.TempDir())
			p := mustOpen(t, offline(t), opts)
			appendMany(t, p, 0, 10)
			producer := p.Stats().Producer
			kill(p)
			var damaged []byte
			rewriteFile(t, segments(t, opts.Dir)[0], func(b []byte) []byte {
				from, to := recordAt(t, b, tt.record)
				if tt.offset < 0 {
					from = to
				}
				b[from+tt.offset] ^= 0x10
				damaged = b
				return b
			})
			for range 2 { // damage is reported only once
				p = mustOpen(t, offline(t), opts)
				kill(p)
			}
			p = appendOnline(t, srv, opts, 10, 12)
			h := checkStream(t, srv)
			if len(h.events) != 11 {
				t.Errorf("got %d events, want 11", len(h.events))
			}
			number := uint64(tt.record + 1)
			h.wantGap(t, number, number, state.ReasonDamaged)
			state, err := Inspect(opts.Dir)
			if err != nil || len(state.Quarantine) != 1 {
				t.Fatalf("state %+v, error %v; want one copy of the segment", state, err)
			}
			if kept, err := os.ReadFile(state.Quarantine[0]); err != nil || !bytes.Equal(kept, damaged) {
				t.Errorf("what was kept is not the segment: %v", err)
			}
			if got := p.Stats().Producer != producer; got != tt.renumbered {
				t.Errorf("took a new producer id: %t", got)
			}
		})
	}
}

func TestRecover_LostCursor(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"Gone":    func([]byte) []byte { return nil },
		"Cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"Flipped": func(b []byte) []byte { b[len(b)-9] ^= 4; return b },
	} {
		t.Run(name, func(t *testing.T) {
			srv := natstest.Start(t)
			opts := testOptions(t, t.TempDir())
			opts.SegmentBytes = 2 << 10
			p := mustOpen(t, srv.Connect(t), opts)
			for n := range 5 {
				appendMany(t, p, n*10, n*10+10)
				mustFlush(t, p)
			}
			kill(p)
			cursors, err := filepath.Glob(filepath.Join(opts.Dir, "*", "cursor"))
			if err != nil || len(cursors) != 1 {
				t.Fatal(cursors, err)
			}
			rewriteFile(t, cursors[0], damage)
			appendOnline(t, srv, opts, 50, 60)
			h := checkStream(t, srv)
			seen := map[string]bool{}
			for _, e := range h.events {
				seen[e.ID] = true
			}
			if len(seen) != 60 {
				t.Errorf("%d events", len(seen))
			}
		})
	}
}

//guarantee:outbox-damaged
func TestRecover_DamagedIdentity(t *testing.T) {
	opts := testOptions(t, t.TempDir())
	kill(mustOpen(t, offline(t), opts))
	rewriteFile(t, identityFile(opts.Dir), func([]byte) []byte { return []byte("{") })
	if _, err := Open(t.Context(), atomicbatch.Over(offline(t)), opts); err == nil || !strings.Contains(err.Error(), "identity") {
		t.Errorf("got %v", err)
	}
}

// The remedy in the error about a damaged identity loses no event.
//
//guarantee:outbox-damaged
func TestRecover_RemovedIdentity(t *testing.T) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("shared=%t", shared), func(t *testing.T) {
			srv := natstest.Start(t)
			opts := testOptions(t, t.TempDir())
			open := Open
			if shared {
				open = OpenShared
			}
			before, err := open(t.Context(), atomicbatch.Over(offline(t)), opts)
			if err != nil {
				t.Fatal(err)
			}
			appendMany(t, before, 0, 10)
			kill(before)
			if err := os.Remove(identityFile(opts.Dir)); err != nil {
				t.Fatal(err)
			}
			if shared {
				if _, err := AppendShared(t.Context(), opts.Dir, sharedOptions(), newEvent(10)); err != nil {
					t.Fatal(err)
				}
			}
			p, err := open(t.Context(), atomicbatch.Over(srv.Connect(t)), opts)
			if err != nil {
				t.Fatal(err)
			}
			if !shared {
				appendMany(t, p, 10, 11)
			}
			mustClose(t, p)
			if p.Stats().Producer == before.Stats().Producer {
				t.Error("kept a producer id of which it is not known what was sent")
			}
			checkShared(t, srv, 11)
		})
	}
}

func TestRecover_PowerCutWithLosses(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	opts.Quota, opts.Full = 8<<10, Shed
	opts.bootID = bootID("boot-1")
	p := mustOpen(t, srv.Connect(t), opts)
	appendMany(t, p, 0, 5)
	mustAppend(t, p, finish(5, "run-1"))
	mustFlush(t, p)
	kill(p)
	p = mustOpen(t, offline(t), opts)
	taken, shed := appendShedding(t, p, 6, 66)
	kill(p)
	rewriteFile(t, segments(t, opts.Dir)[len(segments(t, opts.Dir))-1], func(b []byte) []byte {
		_, to := recordAt(t, b, 0)
		b[to-5] ^= 1
		return b
	})
	opts.bootID = bootID("boot-2")
	p = mustOpen(t, srv.Connect(t), opts)
	mustClose(t, p)
	h := checkStream(t, srv)
	if len(h.events) != 6+len(taken)-1 {
		t.Errorf("%d events, want %d", len(h.events), 6+len(taken)-1)
	}
	lost := map[string]int{}
	for _, g := range h.gaps {
		lost[g.Reason] += int(g.Last - g.First + 1)
	}
	if lost[state.ReasonShed] != len(shed) || lost[state.ReasonDamaged] != 1 || len(lost) != 2 {
		t.Errorf("recorded %v, want %d shed and one damaged", lost, len(shed))
	}
	if s := p.Stats(); s.Damaged != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestInspect_DamageBehind(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	p := mustOpen(t, srv.Connect(t), opts)
	appendMany(t, p, 0, 10)
	mustFlush(t, p)
	kill(p)
	rewriteFile(t, segments(t, opts.Dir)[0], func(b []byte) []byte {
		from, _ := recordAt(t, b, 3)
		b[from] ^= 1
		return b
	})
	if s, err := Inspect(opts.Dir); err != nil || s.Damaged != 0 || s.Waiting != 0 {
		t.Errorf("state %+v, error %v; want nothing", s, err)
	}
}
