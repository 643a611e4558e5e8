package auditor

import (
	"bytes"
	"context"
	"os"
	"sync"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

func drain(tb testing.TB, b *broker.Broker, dir string) {
	tb.Helper()
	drainWith(tb, auditor.Options{Broker: b, DataDir: dir})
}

func drainWith(tb testing.TB, o auditor.Options) {
	tb.Helper()
	if err := tryDrain(tb, o); err != nil {
		tb.Fatalf("drain: %v", err)
	}
}

func tryDrain(tb testing.TB, o auditor.Options) error {
	tb.Helper()
	o.Drain, o.KnownLedgers = true, os.Getenv(cli.EnvName("known-ledgers"))
	return auditor.Run(auditortest.Deadline(tb), o)
}

func embedded(tb testing.TB, dir string) *broker.Broker {
	tb.Helper()
	b, err := broker.Open(auditortest.Deadline(tb), broker.Options{DataDir: dir, Name: "test"})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.Close(context.WithoutCancel(tb.Context())); err != nil {
			tb.Error(err)
		}
	})
	return b
}

func command(tb testing.TB, args ...string) (status int, stdout string) {
	tb.Helper()
	status, stdout, stderr := commandBoth(tb, args...)
	if stderr != "" {
		tb.Logf("%v: %s", args, stderr)
	}
	return status, stdout
}

func commandBoth(tb testing.TB, args ...string) (status int, stdout, stderr string) {
	tb.Helper()
	var out bytes.Buffer
	var errs syncBuffer
	cmd := Command()
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	status = cli.Execute(auditortest.Deadline(tb), cmd, args)
	return status, out.String(), errs.String()
}

type syncBuffer struct {
	mu sync.Mutex // guards Buffer
	bytes.Buffer
}

func (a *syncBuffer) Write(text []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Buffer.Write(text)
}
