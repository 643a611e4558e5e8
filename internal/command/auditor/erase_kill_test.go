package auditor

import (
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// The command is killed after the erasure took effect, while a reader keeps it from rewriting the
// file. The text stays in the file, verify says so, and the next erase removes it.
//
//guarantee:erase
func TestErase_Killed(t *testing.T) {
	const secret = "a sentence that nobody may read again"
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	p := auditortest.Outbox(t, b, "engine", "acme")
	for range 3 {
		publishText(t, p, "run-1", "jane", secret+strings.Repeat(".", 700))
	}
	drain(t, b, dir)
	at := []string{"--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL()}
	erase := append([]string{"erase", "--run", "run-1", "--reason", "subject request", "--by", "jdoe"}, at...)
	verify := append([]string{"verify", "--key", publicKey(t, dir)}, at...)

	release := readOn(t, dir)
	victim := start(t, erase...)
	auditortest.Until(t, "the effect", func() bool {
		unclean, err := writer.Unclean(auditor.LedgerDir(dir), "acme")
		return err == nil && unclean && erasures(t, dir) == 1
	})
	victim.kill()
	release()
	if len(filesWith(t, auditor.LedgerDir(dir), secret)) == 0 {
		t.Fatal("the kill came too late: the text is gone")
	}
	if status, text := both(t, verify...); status != 0 || !strings.Contains(text, "erased text is not yet removed from") {
		t.Errorf("verify after the kill: status %d\n%s", status, text)
	}

	var again Change
	order(t, 0, &again, erase...)
	if again.Records != 3 || !again.Repeated || !slices.Equal(again.Effects, []ledger.Effect{ledger.EffectDone}) {
		t.Errorf("erased again: %+v, want the three records of the first order", again)
	}
	if found := filesWith(t, dir, secret); len(found) > 0 {
		t.Errorf("the text is still in %v", found)
	}
	if status, text := both(t, verify...); status != 0 || strings.Contains(text, "not yet removed") {
		t.Errorf("verify at the end: status %d\n%s", status, text)
	}
	if n := erasures(t, dir); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
}

// readOn keeps a snapshot of the ledger open, so that its log cannot be truncated.
func readOn(t *testing.T, dir string) (release func()) {
	t.Helper()
	path, err := ledger.Path(auditor.LedgerDir(dir), "acme")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"BEGIN", "SELECT count(*) FROM orders"} {
		if err := sqlitex.ExecuteTransient(conn, query, nil); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

func erasures(t *testing.T, dir string) int {
	t.Helper()
	r, err := ledger.OpenTenant(auditor.LedgerDir(dir), "acme")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	done, err := r.Orders().Done(t.Context(), events.AuditErase, ledger.OrderSelection{Run: "run-1"})
	if err != nil {
		t.Fatal(err)
	}
	return len(done)
}
