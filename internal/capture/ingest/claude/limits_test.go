package claude_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestEvents_LongLines(t *testing.T) {
	text := strings.Repeat("x", 2<<20)
	big := u + `"uuid":"p","message":{"content":"` + text + `"}}`
	tooLong := io.MultiReader(strings.NewReader(big+"\n"), io.LimitReader(zeros{}, ingest.MaxLine+1), strings.NewReader("\n"+strings.Replace(big, `"p"`, `"q"`, 1)))
	var prompts, reports int
	for e, err := range claude.Events(t.Context(), tooLong, ingest.Options{File: "f", Tenant: "t"}) {
		if err != nil {
			reports++
			if got, want := err.Error(), "f:2: longer than 64 MiB"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		} else if e.Kind() == events.PromptSubmit {
			prompts++
			if got := len(ingesttest.Payload[events.PromptSubmitData](t, e).Prompt); got != len(text) {
				t.Errorf("got a prompt of %d bytes, want %d", got, len(text))
			}
		}
	}
	if prompts != 2 || reports != 1 {
		t.Errorf("got %d prompts and %d reports, want 2 and 1", prompts, reports)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestEvents_Stops(t *testing.T) {
	line := u + `"uuid":"p","message":{"content":"go"}}` + "\n"
	t.Run("ReadError", func(t *testing.T) {
		broken := errors.New("disk gone")
		var last error
		for _, err := range claude.Events(t.Context(), io.MultiReader(strings.NewReader(line), iotest.ErrReader(broken)), ingest.Options{File: "f"}) {
			last = err
		}
		if !errors.Is(last, broken) {
			t.Errorf("got %v, want %v at the end", last, broken)
		}
	})
	t.Run("Cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range claude.Events(ctx, strings.NewReader(line), ingest.Options{File: "f"}) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
		}
	})
	t.Run("Break", func(t *testing.T) {
		for n := range 5 {
			i := 0
			for _, err := range claude.Events(t.Context(), strings.NewReader(line+"{\n"+line), ingest.Options{File: "f", Tenant: "t"}) {
				if i++; i > n {
					if err != nil && n != 3 {
						t.Errorf("yield %d: got %v", n, err)
					}
					break
				}
			}
		}
	})
}

func TestEvents_WithoutSessionAndTime(t *testing.T) {
	list, bad := read(t, filepath.Join("x", "my session.jsonl"), []byte(`{"type":"summary","summary":"t"}`))
	if len(bad) != 0 || len(list) == 0 {
		t.Fatalf("got %d events and %v", len(list), bad)
	}
	if got := list[0].Run; got != "my session" {
		t.Errorf("got run %q, want that of the file's name", got)
	}
	if got := list[0].Time; !got.Equal(time.Unix(0, 0)) {
		t.Errorf("got time %v, want the beginning of time", got)
	}
}
