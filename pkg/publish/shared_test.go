package publish

import (
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/natstest"
)

func TestAppendShared(t *testing.T) {
	srv := natstest.Start(t)
	dir := filepath.Join(t.TempDir(), "shared")
	opts := SharedOptions{Redactor: NoRedaction, Tenant: "acme"}
	for n := range 10 {
		stored, err := AppendShared(t.Context(), dir, opts, newEvent(2*n), newEvent(2*n+1))
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range stored {
			if want := uint64(2*n + i + 1); e.Sequence != want {
				t.Errorf("number %d, want %d", e.Sequence, want)
			}
		}
	}
	o := testOptions(t, dir)
	o.Name = "shared"
	p := mustOpen(t, srv.Connect(t), o)
	mustClose(t, p)
	if h := checkStream(t, srv); len(h.events) != 20 {
		t.Errorf("%d events in the stream, want 20", len(h.events))
	}
}
