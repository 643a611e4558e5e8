package auditor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// A damaged outbox may have accepted events that the stream does not have. The journal lists the
// outbox, so the ledger is not COMPLETE.
//
//guarantee:producer-silent
func TestVerify_OutboxDamaged(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, dir string){
		"IdentityDamaged": func(t *testing.T, dir string) { auditortest.Put(t, filepath.Join(dir, "outbox.json"), "{") },
		"OnlyIdentityLeft": func(t *testing.T, dir string) {
			data, err := os.ReadFile(filepath.Join(dir, "outbox.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			auditortest.Put(t, filepath.Join(dir, "outbox.json"), string(data))
		},
		"ReplacedByFile": func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			auditortest.Put(t, dir, "x")
		},
		"Removed": func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
			auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
			drain(t, b, dir)
			outbox := filepath.Join(dir, "outbox", "shared")
			for range 3 {
				e, err := events.New(events.Custom, "/test", events.CustomData{Name: "x"})
				if err != nil {
					t.Fatal(err)
				}
				e.Tenant = "acme"
				if _, err := publish.AppendShared(t.Context(), outbox, publish.SharedOptions{Redactor: publish.NoRedaction, Journal: publish.JournalDir(dir)}, e); err != nil {
					t.Fatal(err)
				}
			}
			damage(t, outbox)
			status, text := command(t, "verify", "--data-dir", dir, "--tenant", "acme")
			if status == verifier.ExitVerified {
				t.Errorf("status %d:\n%s", status, text)
			}
		})
	}
}
