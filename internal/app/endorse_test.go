package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
)

// The issuer is endorsed before a service opens an outbox, so the first grants count.
//
//guarantee:enrolled
func TestRun_EndorsesFirst(t *testing.T) {
	dir := t.TempDir()
	startUp(t, dir, func(o *Options) {
		listening := o.Listening
		o.Listening = func(a Addresses) {
			if _, err := os.Stat(filepath.Join(auditor.KeyDir(dir), "issuer.nk.endorsed")); err != nil {
				t.Error(err)
			}
			listening(a)
		}
	})
}
