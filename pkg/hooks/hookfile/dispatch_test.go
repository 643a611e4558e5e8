package hookfile

import (
	"context"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

func register(t testing.TB, text string, opts Options) *hooks.Registry {
	t.Helper()
	return registerFile(t, parse(t, text), opts)
}

func registerFile(t testing.TB, f *File, opts Options) *hooks.Registry {
	t.Helper()
	r := hooks.NewRegistry(hooks.Options{})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := f.Register(r, opts); err != nil {
		t.Fatal(err)
	}
	return r
}

func dispatch(t testing.TB, r *hooks.Registry, document string) hooks.DocumentOutcome {
	t.Helper()
	d, err := wire.Parse([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.DispatchDocument(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const gitStatus = `{"event":"PreToolUse","tool":"Bash","args":{"command":"git status"},"session_id":"abc123","timestamp":"2024-01-15T10:30:00Z"}`

func one(t testing.TB, out hooks.DocumentOutcome) hooks.Execution {
	t.Helper()
	if len(out.Executions) != 1 {
		t.Fatalf("got executions %+v, want one", out.Executions)
	}
	return out.Executions[0]
}
