package publish_test

import (
	"context"
	"fmt"
	"os"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// Append does not need the server. The events wait in the outbox until a later
// Open can forward them.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "outbox")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	nc, err := nats.Connect("nats://127.0.0.1:1", nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer nc.Close()

	ctx := context.Background()
	p, err := publish.Open(ctx, nc, publish.Options{
		Dir: dir, Name: "engine", Tenant: "acme", Redactor: publish.NoRedaction,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := events.New(events.RunStarted, "/engine", events.RunStartedData{Title: "fix the build"})
	if err != nil {
		fmt.Println(err)
		return
	}
	e.Run = "run-7"
	stored, err := p.Append(ctx, e)
	fmt.Println(stored.Tenant, stored.Sequence, err)
	fmt.Println("waiting:", p.Stats().Pending)

	ended, cancel := context.WithCancel(ctx)
	cancel()
	fmt.Println("left in the outbox:", p.Close(ended) != nil)
	// Output:
	// acme 1 <nil>
	// waiting: 1
	// left in the outbox: true
}

// Short-lived processes append to a shared outbox. Another process forwards it
// with OpenShared.
func ExampleAppendShared() {
	dir, err := os.MkdirTemp("", "outbox")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	e, err := events.New(events.RunStarted, "/engine", events.RunStartedData{Title: "fix the build"})
	if err != nil {
		fmt.Println(err)
		return
	}
	e.Run = "run-7"
	opts := publish.SharedOptions{Tenant: "acme", Redactor: publish.NoRedaction}
	if _, err := publish.AppendShared(context.Background(), dir, opts, e); err != nil {
		fmt.Println(err)
		return
	}
	state, err := publish.Inspect(dir)
	fmt.Println("waiting:", state.Waiting, state.Tenants, err)
	// Output:
	// waiting: 1 map[acme:1] <nil>
}
