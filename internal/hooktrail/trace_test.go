package hooktrail

import (
	"bytes"
	"os"
	"testing"

	"github.com/hooktrail/hooktrail/internal/cli"
	"github.com/hooktrail/hooktrail/internal/ingest"
)

func TestX(t *testing.T) {
	for _, name := range []string{"session/5e6c1d2a-7b1f-4c55-9a64-0f6b3c2d9e71.jsonl", "session/5e6c1d2a-7b1f-4c55-9a64-0f6b3c2d9e71/subagents/agent-a7c41f9.jsonl"} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		tr := newTracer("default", "x")
		for e, err := range ingest.ClaudeCode(t.Context(), f, ingest.Options{File: name, Tenant: "default"}) {
			if err != nil {
				t.Error(err)
				continue
			}
			tr.add(e)
		}
		var b bytes.Buffer
		waterfall(&b, tr.result(), cli.Palette{})
		t.Log("\n" + b.String())
	}
}
