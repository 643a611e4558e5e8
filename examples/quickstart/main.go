// Command quickstart puts a hook in front of a tool call and records the run.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/publish"
	"github.com/hooktrail/hooktrail/pkg/redact"
)

func main() {
	if err := run(context.Background(), os.Getenv("NATS_URL")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string) (err error) {
	nc, err := nats.Connect(url, nats.RetryOnFailedConnect(true)) // NATS may be down
	if err != nil {
		return err
	}
	defer nc.Close()
	redactor, err := redact.New(redact.Options{}) // removes secrets and personal data
	if err != nil {
		return err
	}
	outbox, err := publish.Open(ctx, nc, publish.Options{Dir: "outbox", Name: "engine", Redactor: redactor})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, outbox.Close(ctx)) }() // sends the waiting events

	registry := hooks.NewRegistry(hooks.Options{Appender: outbox}) // records every decision
	hooks.ToolBefore.On(registry, func(_ context.Context, _ hooks.Meta, call hooks.ToolCall) (*hooks.ToolDecision, error) {
		if command, _ := call.Args.Text("command"); strings.HasPrefix(command, "rm ") {
			return hooks.DenyTool("this run may not remove files"), nil
		}
		return hooks.NoOpinion[hooks.ToolDecision](), nil
	})

	engine := hooks.NewEngine(registry, hooks.Meta{Tenant: "acme"})
	shell := func(context.Context, hooks.ToolCall) (hooks.JSON, error) { return `"done"`, nil } // your tool
	return engine.Run(ctx, hooks.RunInfo{Agent: "coder"}, func(ctx context.Context) error {
		for _, args := range []hooks.JSON{`{"command":"ls"}`, `{"command":"rm -r src"}`} {
			out, err := engine.Tool(ctx, hooks.ToolCall{Tool: "Bash", Args: args}, shell)
			fmt.Println(out.Status, out.Result, out.Error, errors.Is(err, hooks.ErrDenied))
		}
		return nil
	})
}
