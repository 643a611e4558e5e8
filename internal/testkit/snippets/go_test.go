package snippets

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/publish"
	"github.com/hooktrail/hooktrail/pkg/redact"
)

// fragments has the Go fragments of the documents, so that they compile.
var fragments = []any{
	func(ctx context.Context, engine *hooks.Engine, messages []hooks.Message) any {
		out := hooks.MessagesFilter.Dispatch(ctx, engine.Registry(), engine.Meta(ctx), hooks.NoSubject{}, messages)
		return out
	},
	func(registry *hooks.Registry, guard func(context.Context, hooks.Meta, hooks.ToolCall) (*hooks.ToolDecision, error)) (any, error) {
		id, err := hooks.ToolBefore.Register(registry, guard, hooks.Name("no-force"), hooks.OnFailure(hooks.Block))
		return id, err
	},
	func(ctx context.Context, url, dir string, redactor *redact.Redactor) error {
		key, err := nats.NkeyOptionFromSeed("acme.nk")
		if err != nil {
			return err
		}
		nc, err := nats.Connect(url, key)
		if err != nil {
			return err
		}
		p, err := publish.Open(ctx, nc, publish.Options{Dir: dir, Name: "engine", Tenant: "acme", Redactor: redactor})
		return errors.Join(err, p.Close(ctx))
	},
}

// The Go fragments of the documents are in this file, whose code is compiled.
func TestGo(t *testing.T) {
	text, err := os.ReadFile("go_test.go")
	if err != nil || len(fragments) == 0 {
		t.Fatal(err)
	}
	table := entries(t, "testdata/blocks.yaml")
	for _, page := range pages(t) {
		for _, b := range blocks(t, root, page) {
			if table.of(b).By != "internal/testkit/snippets.TestGo" {
				continue
			}
			for line := range strings.Lines(b.text) {
				if !strings.Contains(string(text), "\t"+line) {
					t.Errorf("%v: go_test.go does not have %s", b, line)
				}
			}
		}
	}
}
