package outbox

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

// Without its tail, an outbox of many segments is read again. Each record counts once.
func TestAppendShared_NoTail(t *testing.T) {
	dir := t.TempDir()
	opts := sharedOptions()
	opts.SegmentBytes = 1 << 10
	for n := range 20 {
		if _, err := AppendShared(t.Context(), dir, opts, newEvent(n)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(segments(t, dir)); n < 5 {
		t.Fatalf("%d segments are too few", n)
	}
	if err := os.Remove(tailPath(t, dir)); err != nil {
		t.Fatal(err)
	}
	stored, err := AppendShared(t.Context(), dir, opts, newEvent(20))
	if err != nil || stored[0].Sequence != 21 {
		t.Fatalf("stored %+v, error %v", stored, err)
	}
	f, err := state.OpenTail(folderOf(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Read()
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for _, path := range segments(t, dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if got.Waiting != size || got.Ordinal != 21 {
		t.Errorf("%d bytes and %d records wait, want %d and 21", got.Waiting, got.Ordinal, size)
	}
}

// A shared outbox that is closed without a server and without time keeps its producer id after a
// power cut.
func TestOpenShared_ClosedWithoutTime(t *testing.T) {
	dir := t.TempDir()
	srv := natstest.Start(t)
	for range 8 {
		opts := testOptions(t, dir)
		p, err := OpenShared(t.Context(), atomicbatch.Over(offline(t)), opts)
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, p, newEvent(0))
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.Close(over); !errors.Is(err, context.Canceled) {
			t.Errorf("close: got %v, want %v: an event waits", err, context.Canceled)
		}
		id, err := readIdentity(dir)
		if err != nil {
			t.Fatal(err)
		}
		if id.Open {
			t.Fatal("the outbox was not closed")
		}
	}
	mustClose(t, mustOpenShared(t, srv, dir))
}
