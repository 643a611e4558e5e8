package auditor

import (
	"bytes"
	"sync"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

func drain(tb testing.TB, b *broker.Broker, dir string) {
	tb.Helper()
	if err := auditor.Run(auditortest.Deadline(tb), auditor.Options{Broker: b, DataDir: dir, Drain: true}); err != nil {
		tb.Fatalf("drain: %v", err)
	}
}

// command runs an auditor command and returns its exit status and output.
func command(tb testing.TB, args ...string) (status int, stdout string) {
	tb.Helper()
	status, stdout, stderr := commandBoth(tb, args...)
	if stderr != "" {
		tb.Logf("%v: %s", args, stderr)
	}
	return status, stdout
}

// commandBoth returns what the command says to stderr, too.
func commandBoth(tb testing.TB, args ...string) (status int, stdout, stderr string) {
	tb.Helper()
	var out bytes.Buffer
	var errs atOnce
	cmd := Command()
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	status = cli.Execute(auditortest.Deadline(tb), cmd, args)
	return status, out.String(), errs.String()
}

// atOnce is what several goroutines log to, as they may to a file.
type atOnce struct {
	mu sync.Mutex // guards what follows
	bytes.Buffer
}

// Write implements io.Writer.
func (a *atOnce) Write(text []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Buffer.Write(text)
}
