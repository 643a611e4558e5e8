package tracker

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// jsonl writes events to a file, one per line.
func jsonl(tb testing.TB, list ...events.Event) string {
	tb.Helper()
	var b bytes.Buffer
	for _, e := range list {
		if err := e.Normalize(); err != nil {
			tb.Fatalf("event %s: %v", e.ID, err)
		}
		b.Write(append(e.Encode(), '\n'))
	}
	return file(tb, "events.jsonl", b.String())
}

func file(tb testing.TB, name, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func read1(tb testing.TB, path string) string {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}
