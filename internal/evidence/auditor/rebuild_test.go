package auditor

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

func rebuild(tb testing.TB, b *broker.Broker, dir string, from ...string) []Rebuilt {
	tb.Helper()
	done, err := Rebuild(auditortest.Deadline(tb), RebuildOptions{Broker: b, DataDir: dir, From: from})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "rebuild")); !errors.Is(err, os.ErrNotExist) {
		tb.Errorf("the folder of the rebuild is left: %v", err)
	}
	return done
}

//guarantee:rebuild
func TestRebuild_SameFromTheStream(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	for _, tenant := range []string{"acme", "other"} {
		p := auditortest.Outbox(t, b, "coder-"+tenant, tenant)
		first := seenTwice(t, p, "first")
		auditortest.PublishRun(t, p, "r1", 5)
		if _, err := p.Append(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		auditortest.PublishRun(t, p, "r2", 5)
	}
	drain(t, b, dir)
	files, err := filepath.Glob(filepath.Join(AgentFSDir(dir), "*__acme.db"))
	if err != nil || len(files) == 0 {
		t.Fatalf("agentfs files: got %q, %v", files, err)
	}
	edit(`INSERT INTO tool_calls (name, status, result, started_at) VALUES ('theirs', 'success', '"kept"', 7);
		INSERT INTO kv_store (key, value) VALUES ('theirs', '"kept"')`)(t, files[0])
	before := map[string]verifier.Report{"acme": auditortest.Verify(t, dir, "acme"), "other": auditortest.Verify(t, dir, "other")}
	rows := auditortest.AgentRows(t, files[0])
	edit("DELETE FROM tool_calls WHERE name <> 'theirs'")(t, files[0]) // causes a difference that Rebuild must repair
	edit("DELETE FROM leaves WHERE leaf = 3")(t, auditortest.LedgerFile(t, dir, "other"))

	done := rebuild(t, b, dir)
	if len(done) != 2 || done[0].Compared == "" || done[1].Compared == "" || len(done[0].Kept) != 1 {
		t.Errorf("got %+v", done)
	}
	for tenant, want := range before {
		got := auditortest.Verify(t, dir, tenant)
		auditortest.WantVerdicts(t, got, verifier.Verified, verifier.Complete)
		if got.Checkpoint.Root != want.Checkpoint.Root || got.SeenAgain != want.SeenAgain {
			t.Errorf("tenant %s: root %s, seen again %d, want %s, %d",
				tenant, got.Checkpoint.Root, got.SeenAgain, want.Checkpoint.Root, want.SeenAgain)
		}
	}
	if diff := cmp.Diff(rows, auditortest.AgentRows(t, files[0])); diff != "" {
		t.Errorf("agentfs rows (-want +got):\n%s", diff)
	}
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "later", "acme"), "r3", 2)
	drain(t, b, dir)
	auditortest.WantVerdicts(t, auditortest.Verify(t, dir, "acme"), verifier.Verified, verifier.Complete)
	if r := auditortest.Verify(t, dir, "acme"); len(r.Streams) != 1 || len(r.Breaks) > 0 {
		t.Errorf("got %+v, %+v", r.Streams, r.Breaks)
	}
}

//guarantee:rebuild
func TestRebuild_FromALedger(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 5)
	drain(t, b, dir)
	older := filepath.Join(t.TempDir(), "older.db")
	if err := ledger.Copy(t.Context(), auditortest.LedgerFile(t, dir, "acme"), older); err != nil {
		t.Fatal(err)
	}
	auditortest.PublishRun(t, p, "r2", 5)
	drain(t, b, dir)
	want := auditortest.Verify(t, dir, "acme")
	for seq := range uint64(10) {
		auditortest.DeleteMessage(t, b, seq+1)
	}
	_, err := Rebuild(auditortest.Deadline(t), RebuildOptions{Broker: b, DataDir: dir})
	if !errors.Is(err, ErrLess) || !strings.Contains(err.Error(), "--from "+auditortest.LedgerFile(t, dir, "acme")) {
		t.Errorf("without the older ledger: got %v", err)
	}
	if got := auditortest.Verify(t, dir, "acme"); got.Checkpoint.Note != want.Checkpoint.Note {
		t.Error("the ledger in place was changed")
	}
	for _, from := range []string{older, auditortest.LedgerFile(t, dir, "acme")} {
		rebuild(t, b, dir, from)
		got := auditortest.Verify(t, dir, "acme")
		auditortest.WantVerdicts(t, got, verifier.Verified, verifier.Complete)
		if got.Checkpoint.Root != want.Checkpoint.Root || len(got.Breaks) > 0 {
			t.Errorf("from %s: got root %s, breaks %+v, want root %s", from, got.Checkpoint.Root, got.Breaks, want.Checkpoint.Root)
		}
	}
	edit("UPDATE leaves SET kind = 'custom' WHERE leaf = 3")(t, older)
	if _, err := Rebuild(auditortest.Deadline(t), RebuildOptions{Broker: b, DataDir: dir, From: []string{older}}); !errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("from a damaged ledger: got %v", err)
	}
}

func TestRebuild_RefusesBesideAnAuditor(t *testing.T) {
	dir := t.TempDir()
	if err := makeDir(LedgerDir(dir)); err != nil {
		t.Fatal(err)
	}
	lock, err := filelock.Try(filepath.Join(LedgerDir(dir), lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lock.Unlock(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := Rebuild(auditortest.Deadline(t), RebuildOptions{DataDir: dir, AgentFS: true}); err == nil || !strings.Contains(err.Error(), "stop it first") {
		t.Errorf("got %v", err)
	}
}

//guarantee:rebuild
func TestStaging_SettlesWhateverIsLeft(t *testing.T) {
	lay := func(t *testing.T) staging {
		t.Helper()
		dir := t.TempDir()
		p := stagingOf(dir)
		for path, text := range map[string]string{
			"ledger/a/ledger.db": "old a", "ledger/b/ledger.db": "old b", "agentfs/x.db": "old x", "agentfs/x.db-wal": "old log",
			"agentfs/gone.db": "old", "agentfs/theirs.db": "theirs",
			"rebuild/new/ledger/a/ledger.db": "new a", "rebuild/new/ledger/b/ledger.db": "new b", "rebuild/new/agentfs/x.db": "new x",
		} {
			path = filepath.Join(dir, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(p.add("ledger/a"), p.add("ledger/b"), p.add("agentfs/x.db")); err != nil {
			t.Fatal(err)
		}
		p.drop("agentfs/gone.db")
		return p
	}
	want := map[string]string{"ledger/a/ledger.db": "new a", "ledger/b/ledger.db": "new b", "agentfs/x.db": "new x", "agentfs/theirs.db": "theirs"}
	for done := range 5 { // replacements before the crash
		p := lay(t)
		text, err := json.Marshal(*p.replacements)
		if err == nil {
			err = os.WriteFile(p.list(), text, 0o600)
		}
		for _, one := range (*p.replacements)[:done] {
			err = errors.Join(err, p.replace(one))
		}
		if err = errors.Join(err, stagingOf(p.dataDir).finish(t.Context(), discard())); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, auditortest.Contents(t, p.dataDir)); diff != "" {
			t.Errorf("after %d parts (-want +got):\n%s", done, diff)
		}
	}
	p := lay(t) // crash before the list was written
	if err := p.finish(t.Context(), discard()); err != nil {
		t.Fatal(err)
	}
	if got := auditortest.Contents(t, p.dataDir); got["ledger/a/ledger.db"] != "old a" || got["agentfs/x.db-wal"] != "old log" || len(got) != 6 {
		t.Errorf("got %v", got)
	}
	if err := p.replace(replacement{Path: "../elsewhere"}); err == nil {
		t.Error("a part outside the data directory was put in place")
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
