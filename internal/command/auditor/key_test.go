package auditor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func TestCommand_Key(t *testing.T) {
	dir := t.TempDir()
	if status, text := command(t, "key", "--data-dir", dir); status != 1 {
		t.Errorf("without a key: got status %d:\n%s", status, text)
	}
	b := auditortest.Connect(t, auditortest.Server(t))
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 1)
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder2", "b c"), "r1", 1)
	drain(t, b, dir)
	key, public, err := ledger.ReadVerifier(auditor.KeyDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	status, text := command(t, "key", "--data-dir", dir)
	want := public + "\norigin hooktrail/acme\norigin hooktrail/b=20c\nanchor PINNED key " + ledger.KeyID(key) + ", first seen "
	if status != 0 || !strings.HasPrefix(text, want) {
		t.Errorf("got status %d:\n%s", status, text)
	}
	status, text = command(t, "key", "--data-dir", dir, "--tenant", "new", "--json")
	var got keyShown
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != 0 {
		t.Fatalf("status %d, %v:\n%s", status, err, text)
	}
	if got.Anchor == nil || got.Anchor.State != verifier.AnchorPinned {
		t.Errorf("got %+v", got.Anchor)
	}
	shown := keyShown{ID: ledger.KeyID(key), Key: public, Ledgers: []logOrigin{{"new", "hooktrail/new"}}, Anchor: got.Anchor}
	if diff := cmp.Diff(shown, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if note := auditortest.Verify(t, dir, "b c").Checkpoint.Note; note[:len("hooktrail/b=20c\n")] != "hooktrail/b=20c\n" {
		t.Errorf("got\n%s", note)
	}
}
