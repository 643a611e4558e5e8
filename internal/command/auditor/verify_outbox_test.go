package auditor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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
	for name, damage := range map[string]func(outbox string) error{
		"IdentityDamaged": func(outbox string) error {
			return os.WriteFile(filepath.Join(outbox, "outbox.json"), []byte("{"), 0o600)
		},
		"OnlyIdentityLeft": func(outbox string) error {
			folders, err := filepath.Glob(filepath.Join(outbox, "*", "losses*"))
			if err != nil || len(folders) != 1 {
				return err
			}
			return os.RemoveAll(filepath.Dir(folders[0]))
		},
		"Emptied": func(outbox string) error {
			files, err := filepath.Glob(filepath.Join(outbox, "*", "*"))
			for _, file := range files {
				err = errors.Join(err, os.RemoveAll(file))
			}
			return err
		},
		"ReplacedByFile": func(outbox string) error {
			if err := os.RemoveAll(outbox); err != nil {
				return err
			}
			return os.WriteFile(outbox, []byte("x"), 0o600)
		},
		"Removed": os.RemoveAll,
	} {
		t.Run(name, func(t *testing.T) {
			b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
			auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
			drain(t, b, dir)
			outbox := filepath.Join(dir, "outbox", "shared")
			e, err := events.New(events.Custom, "/test", events.CustomData{Name: "x"})
			if err != nil {
				t.Fatal(err)
			}
			e.Tenant = "acme"
			if _, err := publish.AppendShared(t.Context(), outbox, publish.SharedOptions{Redactor: publish.NoRedaction, Journal: publish.JournalDir(dir)}, e); err != nil {
				t.Fatal(err)
			}
			if err := damage(outbox); err != nil {
				t.Fatal(err)
			}
			status, text := command(t, "verify", "--data-dir", dir, "--tenant", "acme")
			isGone := name == "Removed" || name == "OnlyIdentityLeft" || name == "Emptied"
			if status != verifier.ExitIncomplete || strings.Contains(text, "is gone") != isGone || strings.Contains(text, " is damaged, not all outboxes read") == isGone {
				t.Errorf("status %d:\n%s", status, text)
			}
		})
	}
}
