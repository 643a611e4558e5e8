package outbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
)

// DrainShared sends what waits, alone or while another process does it, and creates no outbox.
func TestDrainShared(t *testing.T) {
	srv := natstest.Start(t)
	dir := filepath.Join(t.TempDir(), "shared")
	opts := testOptions(t, dir)
	opts.Name, opts.Tenant = "", ""
	drain := func() {
		t.Helper()
		if err := DrainShared(t.Context(), atomicbatch.Over(srv.Connect(t)), opts); err != nil {
			t.Fatal(err)
		}
	}
	drain()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the outbox of no event: got %v", err)
	}
	mustShare(t, dir, 0, 10)
	drain()
	checkShared(t, srv, 10)

	other := mustOpenShared(t, srv, dir)
	mustShare(t, dir, 10, 30)
	drain()
	checkShared(t, srv, 30)
	mustClose(t, other)
	drain()
}
