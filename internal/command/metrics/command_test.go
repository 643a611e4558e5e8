package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/metrics"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

func execute(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := Command()
	var out, problems bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&problems)
	status = cli.Execute(t.Context(), cmd, args)
	return status, out.String(), problems.String()
}

func TestCommand_Drain(t *testing.T) {
	dir := t.TempDir()
	b, err := broker.Open(t.Context(), broker.Options{DataDir: dir, StreamMaxBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	publish(t, b.JetStream(), recorded(t)...)
	status, stdout, stderr := execute(t, "serve", "--drain", "--json", "--data-dir", dir)
	var got metrics.Summary
	if err := json.Unmarshal([]byte(stdout), &got); status != cli.ExitOK || err != nil || got.ToolCalls != 4 {
		t.Fatalf("got status %d, error %v, summary %+v, stderr:\n%s", status, err, got, stderr)
	}
	_, stdout, _ = execute(t, "serve", "--drain", "--data-dir", dir)
	const want = `runs        1    1 failed, 0 active
steps       1    1 failed
tool calls  4    1 failed, 1 denied, 1 without a result
  Bash      3    1 failed
  Read      1    0 failed
tokens      126  7 input, 9 output, 100 cache read, 10 cache written
`
	if stdout != want {
		t.Errorf("got:\n%s\nwant:\n%s", stdout, want)
	}
	status, _, stderr = execute(t, "serve", "--drain", "--data-dir", dir, "--tenant", "acme")
	if status != cli.ExitError || !strings.Contains(stderr, "other tenants") {
		t.Errorf("with another tenant: got status %d, stderr:\n%s", status, stderr)
	}
}

func TestCommand_Usage(t *testing.T) {
	for _, args := range [][]string{{"count"}, {"serve", "extra"}, {"serve", "--nonsense"}} {
		if status, _, stderr := execute(t, args...); status != cli.ExitUsage || stderr == "" {
			t.Errorf("%v: got status %d and %q, want %d and why", args, status, stderr, cli.ExitUsage)
		}
	}
}
