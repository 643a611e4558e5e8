package outbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
)

func inDataDir(tb testing.TB, dataDir, name string) Options {
	tb.Helper()
	opts := testOptions(tb, filepath.Join(dataDir, "outbox", name))
	opts.Journal = JournalDir(dataDir)
	return opts
}

func wantMissing(tb testing.TB, dataDir string, want ...string) {
	tb.Helper()
	list, err := MissingOutboxes(dataDir)
	if err != nil {
		tb.Fatal(err)
	}
	var got []string
	for _, m := range list {
		if !m.Recorded {
			got = append(got, m.Outbox)
		}
	}
	if !slices.Equal(got, want) {
		tb.Errorf("missing %v, want %v", got, want)
	}
}

func remove(tb testing.TB, dir string) {
	tb.Helper()
	if err := os.RemoveAll(dir); err != nil {
		tb.Fatal(err)
	}
}

// A data directory notices that an outbox was removed, and records the loss once.
//
//guarantee:producer-lost
func TestJournal_OutboxRemoved(t *testing.T) {
	srv, dataDir := natstest.Start(t), t.TempDir()
	via := filepath.Join(dataDir, "outbox", "shared")
	record := func() []Missing {
		lost, err := RecordLost(t.Context(), dataDir, via, SharedOptions{Redactor: NoRedaction, Journal: JournalDir(dataDir)})
		if err != nil {
			t.Fatal(err)
		}
		return lost
	}
	opts := inDataDir(t, dataDir, "http")
	appendOffline(t, opts, 0, 9)
	wantMissing(t, dataDir)
	if lost := record(); lost != nil {
		t.Errorf("recorded %+v", lost)
	}
	producer, key := identityOf(t, opts.Dir).Producer, identityOf(t, opts.Dir).Key
	remove(t, opts.Dir)
	wantMissing(t, dataDir, "http")
	appendOnline(t, srv, opts, 9, 10) // opened again
	wantMissing(t, dataDir, "http")
	lost := record()
	if len(lost) != 1 || lost[0].Producer != producer || lost[0].Outbox != "http" {
		t.Fatalf("recorded %+v", lost)
	}
	wantMissing(t, dataDir)
	if again := record(); again != nil {
		t.Errorf("recorded again: %+v", again)
	}
	p, err := OpenShared(t.Context(), atomicbatch.Over(srv.Connect(t)), Options{Dir: via, Redactor: NoRedaction, Journal: JournalDir(dataDir)})
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, p)
	n := 0
	for _, msg := range srv.Messages(t) {
		e, err := events.Decode(msg.Data)
		if err != nil || e.Kind() != events.ProducerLost {
			continue
		}
		d, err := events.Payload[events.ProducerLostData](e)
		if n++; err != nil || d.Producer != producer || d.Outbox != "http" || d.Key != key || e.Tenant != "acme" {
			t.Errorf("%+v, %v", d, err)
		}
	}
	if n != 1 {
		t.Errorf("%d producer.lost events", n)
	}
}

// The files of a producer are removed, and its folder and identity stay. If segments are left, their
// events are still sent.
//
//guarantee:producer-lost
func TestJournal_OutboxEmptied(t *testing.T) {
	for name, keep := range map[string]string{"All": "none", "AllButCursor": "cursor", "AllButSegments": "*.seg"} {
		t.Run(name, func(t *testing.T) {
			srv, dataDir := natstest.Start(t), t.TempDir()
			opts := inDataDir(t, dataDir, "http")
			appendOffline(t, opts, 0, 9)
			id := identityOf(t, opts.Dir)
			entries, err := os.ReadDir(id.dir(opts.Dir))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if kept, err := filepath.Match(keep, e.Name()); err != nil || !kept {
					remove(t, filepath.Join(id.dir(opts.Dir), e.Name()))
				}
			}
			var want []string
			if name != "AllButSegments" {
				want = []string{"http"}
			}
			wantMissing(t, dataDir, want...)
			appendOnline(t, srv, opts, 9, 10)
			wantMissing(t, dataDir, want...)
			if isSame := identityOf(t, opts.Dir).Producer == id.Producer; isSame != (want == nil) {
				t.Errorf("producer id kept: %v", isSame)
			}
		})
	}
}

// An outbox that our own commands close or change is not lost.
//
//guarantee:producer-lost
func TestJournal_NoFalseAlarm(t *testing.T) {
	srv, dataDir := natstest.Start(t), t.TempDir()
	opts := inDataDir(t, dataDir, "http")
	opts.bootID = bootID("boot-1")
	p := mustOpen(t, srv.Connect(t), opts)
	appendMany(t, p, 0, 3)
	mustFlush(t, p)
	kill(p)
	opts.bootID = bootID("boot-2") // gives the waiting events another producer id
	old := p.Stats().Producer
	p = mustOpen(t, srv.Connect(t), opts)
	appendMany(t, p, 3, 5)
	mustFlush(t, p)
	if p.Stats().Producer == old {
		t.Fatal("kept the producer id")
	}
	wantMissing(t, dataDir)
	kill(p)
	wantMissing(t, dataDir)
	appendOnline(t, srv, opts, 5, 6)
	remove(t, opts.Dir) // closed, nothing waited
	wantMissing(t, dataDir)
}

// A closed shared outbox is open again when a process appends to it.
func TestJournal_SharedAfterItsEnd(t *testing.T) {
	srv, dataDir := natstest.Start(t), t.TempDir()
	opts := inDataDir(t, dataDir, "shared")
	shared := SharedOptions{Name: "test", Tenant: "acme", Redactor: NoRedaction, Journal: opts.Journal}
	append1 := func(n int) {
		if _, err := AppendShared(t.Context(), opts.Dir, shared, newEvent(n)); err != nil {
			t.Fatal(err)
		}
	}
	append1(0)
	p, err := OpenShared(t.Context(), atomicbatch.Over(srv.Connect(t)), opts)
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, p)
	append1(1)
	append1(2)
	data, err := os.ReadFile(filepath.Join(opts.Journal, "shared.jsonl"))
	if err != nil || strings.Count(string(data), "producer") != 3 { // begun, closed, appended to
		t.Errorf("%v, journal:\n%s", err, data)
	}
	remove(t, opts.Dir)
	wantMissing(t, dataDir, "shared")
}

// The path of a data directory is not a pattern.
func TestMissingOutboxes_FolderWithBrackets(t *testing.T) {
	dataDir := filepath.Join(t.TempDir(), "build[7]")
	if err := os.Mkdir(dataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	opts := inDataDir(t, dataDir, "http")
	appendOffline(t, opts, 0, 9)
	remove(t, opts.Dir)
	wantMissing(t, dataDir, "http")
}

// An outbox that is lost, restored from a backup, and lost again, is two losses. The second one must
// not claim the id of the first one with other content, which is a finding of status 12 for good.
func TestRecordLost_Twice(t *testing.T) {
	srv, dataDir := natstest.Start(t), t.TempDir()
	via := filepath.Join(dataDir, "outbox", "shared")
	lose := func(dir string) {
		remove(t, dir)
		lost, err := RecordLost(t.Context(), dataDir, via, SharedOptions{Redactor: NoRedaction, Journal: JournalDir(dataDir)})
		if err != nil || len(lost) != 1 {
			t.Fatalf("recorded %v, %v", lost, err)
		}
	}
	opts := inDataDir(t, dataDir, "http")
	appendOffline(t, opts, 0, 9)
	backup := filepath.Join(t.TempDir(), "backup")
	if err := os.CopyFS(backup, os.DirFS(opts.Dir)); err != nil {
		t.Fatal(err)
	}
	lose(opts.Dir)
	if err := os.CopyFS(opts.Dir, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(opts.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o600)
	}); err != nil {
		t.Fatal(err)
	}
	appendOnline(t, srv, opts, 9, 20)
	wantMissing(t, dataDir)
	appendOffline(t, opts, 20, 25)
	lose(opts.Dir)
	p, err := OpenShared(t.Context(), atomicbatch.Over(srv.Connect(t)), Options{Dir: via, Redactor: NoRedaction, Journal: JournalDir(dataDir)})
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, p)
	seen := make(map[string]string)
	for _, msg := range srv.Messages(t) {
		e, err := events.Decode(msg.Data)
		if err != nil || e.Kind() != events.ProducerLost {
			continue
		}
		if before, ok := seen[e.ID]; ok {
			t.Errorf("event %s: %s, and before %s", e.ID, e.Data, before)
		}
		seen[e.ID] = string(e.Data)
	}
}

func TestJournal_NotWritable(t *testing.T) {
	srv, dataDir := natstest.Start(t), t.TempDir()
	if err := os.WriteFile(JournalDir(dataDir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	appendOnline(t, srv, inDataDir(t, dataDir, "http"), 0, 3)
	checkStream(t, srv).wantEvents(t, 0, 3)
}
