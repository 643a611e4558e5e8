package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/examples/orchestrator"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
	"github.com/hooktrail/hooktrail/pkg/redact"
)

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// planner plans with small, attempt 2
	// coder Write: "written"
	// coder Bash: error: FAIL src/parse_test.go:12
	// coder Bash: denied: Shell command blocked: Command contains prohibited pattern "git push --force". Blocked commands: rm -rf, git push --force, git rebase, git reset --hard
	// scout Grep: "src/parse.go:3"
	// reviewer holds it to "tests first"
	// reviewer Read: "package src"
	//
	// In the stream:
	// fix-parser engine: session.start
	// fix-parser foreman: run.started
	// fix-parser planner: step.before error model.switched step.output step.finished
	// fix-parser coder: step.before tool.before tool.result tool.before error tool.result tool.before subagent.start
	// fix-parser/scout scout: run.started tool.before tool.result run.finished
	// fix-parser coder: subagent.stopped step.output step.finished
	// fix-parser reviewer: step.before tool.before tool.result step.output step.finished
	// fix-parser foreman: run.finished
	// fix-parser engine: session.ended
}

// run runs the pipeline against an embedded server in a temporary directory.
// With a remote server, use nats.Connect instead of the broker.
func run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "orchestrator-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	server, err := broker.Open(ctx, broker.Options{DataDir: dir, Name: "orchestrator"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close(ctx)) }()
	redactor, err := redact.New(redact.Options{})
	if err != nil {
		return err
	}
	publisher, err := publish.Open(ctx, server.Conn(), publish.Options{
		Dir: filepath.Join(dir, "outbox"), Name: "engine", Redactor: redactor,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, publisher.Close(ctx)) }()

	pipeline, err := orchestrator.New(publisher, os.Stdout)
	if err != nil {
		return err
	}
	err = errors.Join(pipeline.Run(ctx, "fix-parser", "Fix the parser"), pipeline.Close(ctx), publisher.Flush(ctx))
	if err != nil {
		return err
	}
	fmt.Println("\nIn the stream:")
	return show(ctx, server)
}

// show prints the events of the stream. Consecutive events of an agent share a
// line.
func show(ctx context.Context, server *broker.Broker) error {
	stream, err := server.JetStream().Stream(ctx, server.Space().EventStream())
	if err != nil {
		return err
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{"hooktrail.ev.>"}})
	if err != nil {
		return err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return err
	}
	batch, err := consumer.FetchNoWait(int(info.State.Msgs))
	if err != nil {
		return err
	}
	who, kinds := "", []string(nil)
	line := func() {
		if who != "" {
			fmt.Println(who + ": " + strings.Join(kinds, " "))
		}
	}
	for m := range batch.Messages() {
		e, err := events.Decode(m.Data())
		if err != nil {
			return err
		}
		if e.Kind() == events.RunSealed {
			continue // the time of the seal depends on the publisher's batches
		}
		agent := e.Agent
		if agent == "" {
			agent = "engine"
		}
		if now := e.Run + " " + agent; now != who {
			line()
			who, kinds = now, nil
		}
		kinds = append(kinds, string(e.Kind()))
	}
	line()
	return batch.Error()
}
