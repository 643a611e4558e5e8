package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestVerify_CleanLedger(t *testing.T) {
	f, key := bigFeed(), testKey(t)
	for _, batch := range []int{1, 7, 1000} {
		r := verify(t, write(t, t.TempDir(), key, f, batch), key, VerifyOptions{Tenant: "acme"})
		wantVerdicts(t, r, Verified, Complete)
		if r.SeenAgain != 2 || r.Leaves != int64(len(f.messages)-2) || r.Runs.Sealed != 3 || r.Exit != 0 {
			t.Errorf("got %+v", r)
		}
	}
}

func TestVerify_MissingEvents(t *testing.T) {
	drop := func(f *feed, producer string, sequence uint64) {
		for i, m := range f.messages {
			e, err := events.Decode(m.Data)
			if err == nil && e.Producer == producer && e.Sequence == sequence {
				f.messages = append(f.messages[:i:i], f.messages[i+1:]...)
				return
			}
		}
		panic("no such event")
	}
	tests := []struct {
		name  string
		build func(*feed)
		want  []Gap
	}{
		{"LostInTheStream", func(f *feed) {
			f.run("p", "r1", 90)
			drop(f, "p", 97)
		}, []Gap{{Producer: "p", First: 97, Last: 97, Cause: CauseStream}}},
		{"LostAtTheProducer", func(f *feed) {
			f.event("p", "r1", events.RunStarted, events.RunStartedData{})
			f.skip("p", 3, "torn")
			f.event("p", "r1", events.RunFinished, events.RunFinishedData{})
			f.seal("p", "r1")
			f.manifest("p")
		}, []Gap{{Producer: "p", First: 2, Last: 4, Cause: CauseProducer, Reason: "torn"}}},
		{"Recorded", func(f *feed) {
			f.event("p", "r1", events.RunStarted, events.RunStartedData{})
			f.skip("p", 3, "shed")
			f.event("p", "", events.GapRecorded, events.GapRecordedData{First: 2, Last: 4, Reason: "shed"})
			f.event("p", "r1", events.RunFinished, events.RunFinishedData{})
			f.seal("p", "r1")
			f.manifest("p")
		}, []Gap{{Producer: "p", First: 2, Last: 4, Cause: CauseRecorded, Reason: "shed"}}},
		{"FirstBatches", func(f *feed) {
			f.run("p", "r1", 2)
			f.run("p", "r2", 2)
			f.messages = f.messages[8:] // seven events and their manifest
		}, []Gap{{Producer: "p", First: 1, Last: 7, Cause: CauseStream}}},
		{"Manifest", func(f *feed) {
			f.run("p", "r1", 2)
			f.run("p", "r2", 2)
			f.messages = append(f.messages[:7:7], f.messages[8:]...)
		}, []Gap{{Producer: "p", First: 1, Last: 7, Cause: CauseManifest}}},
		{"AlteredInTheStream", func(f *feed) {
			f.run("p", "r1", 2)
			e, _ := events.Decode(f.messages[1].Data)
			e.Data = []byte(`{"tool":"Forged"}`)
			f.messages[1].Data = e.Encode()
		}, []Gap{
			{Producer: "p", First: 1, Last: 7, Cause: CauseAltered},
			{Producer: "p", First: 1, Last: 6, Cause: CauseSeal, Run: "r1"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, key := newFeed("acme"), testKey(t)
			tt.build(f)
			r := verify(t, write(t, t.TempDir(), key, f, 1000), key, VerifyOptions{})
			wantVerdicts(t, r, Verified, Gaps)
			if diff := cmp.Diff(tt.want, r.Gaps); diff != "" || r.Exit != ExitIncomplete {
				t.Errorf("exit %d, gaps (-want +got):\n%s", r.Exit, diff)
			}
		})
	}
}

func TestVerify_RunsWithoutSeal(t *testing.T) {
	f, key := newFeed("acme"), testKey(t)
	f.run("p", "done", 1)
	f.event("p", "crashed", events.RunStarted, events.RunStartedData{})
	f.manifest("p")
	path := write(t, t.TempDir(), key, f, 1000)
	r := verify(t, path, key, VerifyOptions{})
	wantVerdicts(t, r, Verified, Complete)
	if diff := cmp.Diff([]string{"crashed"}, r.Open); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
	f.now = f.now.Add(31 * time.Minute)
	f.run("p", "later", 1)
	r = verify(t, write(t, t.TempDir(), key, f, 1000), key, VerifyOptions{})
	wantVerdicts(t, r, Verified, Unsealed)
	if diff := cmp.Diff([]string{"crashed"}, r.Unsealed); diff != "" || r.Exit != ExitIncomplete {
		t.Errorf("exit %d, unsealed (-want +got):\n%s", r.Exit, diff)
	}
}

func TestVerify_ProducerWithoutManifests(t *testing.T) {
	f, key := newFeed("acme"), testKey(t)
	f.event("foreign", "r1", events.Custom, events.CustomData{Name: "x"})
	r := verify(t, write(t, t.TempDir(), key, f, 1000), key, VerifyOptions{})
	wantVerdicts(t, r, Verified, Unproven)
	if r.Exit != ExitIncomplete {
		t.Errorf("exit: got %d, want %d", r.Exit, ExitIncomplete)
	}
}
