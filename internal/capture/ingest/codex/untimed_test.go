package codex_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/codex"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
)

// The lines of codex exec have no time. However long their import takes, the ids and durations of the
// events are the same.
func TestEvents_SlowInputWithoutTimes(t *testing.T) {
	for _, file := range ingesttest.Recorded(t, "codex/*/exec-json-stream/*.jsonl") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		read := func(pause time.Duration) (list [][2]string) {
			now := time.Unix(1e9, 0)
			opts := ingest.Options{File: "stdin", Tenant: "acme", Now: func() time.Time {
				now = now.Add(pause)
				return now
			}}
			for e, err := range codex.Events(t.Context(), bytes.NewReader(data), opts) {
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, [2]string{e.ID, string(e.Data)})
			}
			return list
		}
		if diff := cmp.Diff(read(time.Millisecond), read(time.Hour)); diff != "" {
			t.Errorf("%s: events (-fast +slow):\n%s", file, diff)
		}
	}
}
