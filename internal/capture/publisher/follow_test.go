package publisher

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type arrivals struct {
	tb       testing.TB
	srv      *natstest.Server
	messages jetstream.MessagesContext
	all      []events.Event
}

func watch(tb testing.TB, srv *natstest.Server) *arrivals {
	tb.Helper()
	consumer, err := srv.JetStream(tb).OrderedConsumer(tb.Context(), srv.Space().EventStream(), jetstream.OrderedConsumerConfig{})
	if err != nil {
		tb.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(messages.Stop)
	return &arrivals{tb: tb, srv: srv, messages: messages}
}

func (a *arrivals) await(run string, kind events.Kind) {
	a.tb.Helper()
	for {
		msg, err := a.messages.Next(jetstream.NextMaxWait(20 * time.Second))
		if err != nil {
			a.tb.Fatalf("wait for %s of %s: %v; there are %d events", kind, run, err, len(a.all))
		}
		address, err := a.srv.Space().Parse(msg.Subject())
		if err != nil {
			a.tb.Fatal(err)
		}
		if address.Manifest {
			continue
		}
		e, err := events.Decode(msg.Data())
		if err != nil {
			a.tb.Fatal(err)
		}
		a.all = append(a.all, e)
		if e.Run == run && e.Kind() == kind {
			return
		}
	}
}

func userLine(session, id, text string) string {
	return fmt.Sprintf(`{"type":"user","sessionId":%q,"uuid":%q,"timestamp":"2026-01-01T00:00:00Z","message":{"content":%q}}`+"\n", session, id, text)
}

func writeText(tb testing.TB, name, text string) {
	tb.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func appendTo(tb testing.TB, name, text string) {
	tb.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
}

// following runs an import with Follow until end is called, which returns its summary.
func following(t *testing.T, opts ImportOptions) (end func() ImportSummary) {
	t.Helper()
	opts.Follow, opts.Poll = true, 5*time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	type result struct {
		sum ImportSummary
		err error
	}
	ended := make(chan result, 1)
	go func() {
		sum, err := Import(ctx, opts)
		ended <- result{sum, err}
	}()
	t.Cleanup(cancel)
	return func() ImportSummary {
		t.Helper()
		cancel()
		r := <-ended
		if r.err != nil {
			t.Fatal(r.err)
		}
		return r.sum
	}
}

// Follow imports added lines, partial lines, replaced files and new files. When it
// stops, all runs are finished. A second import adds nothing.
func TestImport_Follow(t *testing.T) {
	srv, b := open(t)
	dir, data := t.TempDir(), t.TempDir()
	first, second := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "sub", "b.jsonl")
	writeText(t, first, userLine("a", "1", "one"))
	opts := ImportOptions{Broker: b, DataDir: data, Paths: []string{dir}, Rest: time.Hour}
	end := following(t, opts)
	seen := watch(t, srv)
	seen.await("a", events.PromptSubmit)

	line := userLine("a", "2", "two")
	appendTo(t, first, line[:20])
	appendTo(t, first, line[20:])
	seen.await("a", events.StepFinished) // of the first prompt, because the second one begins another step
	seen.await("a", events.PromptSubmit)

	if err := os.Mkdir(filepath.Dir(second), 0o700); err != nil {
		t.Fatal(err)
	}
	writeText(t, second, userLine("b", "1", "one"))
	seen.await("b", events.PromptSubmit)
	writeText(t, second, userLine("c", "1", "another session in its place"))
	seen.await("c", events.PromptSubmit)
	replaced := filepath.Join(dir, "new")
	writeText(t, replaced, userLine("d", "1", "replaced"))
	if err := os.Rename(replaced, second); err != nil {
		t.Fatal(err)
	}
	seen.await("d", events.PromptSubmit)
	appendTo(t, first, userLine("a", "3", "three")+`{"type":"us`)

	sum := end()
	seen.await("d", events.RunFinished)
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, sum.Runs); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if len(sum.Files) != 2 || sum.Malformed != 1 { // the last line stays incomplete
		t.Errorf("got %d files and %d malformed lines, want 2 and 1", len(sum.Files), sum.Malformed)
	}
	var finished []string
	for _, e := range srv.Events(t) {
		if e.Kind() == events.RunFinished {
			finished = append(finished, e.Run)
		}
	}
	slices.Sort(finished)
	if diff := cmp.Diff([]string{"a", "d"}, finished); diff != "" { // b and c no longer exist
		t.Errorf("finished runs (-want +got):\n%s", diff)
	}
	opts.Follow = false
	again, err := Import(t.Context(), opts)
	if err != nil || again.New != 0 {
		t.Errorf("imported again: %d new events, %v, want none", again.New, err)
	}
}

// The runs of an unchanged file are finished. If the file grows, they are finished
// again.
func TestImport_FollowRests(t *testing.T) {
	srv, b := open(t)
	name := filepath.Join(t.TempDir(), "a.jsonl")
	writeText(t, name, userLine("a", "1", "one"))
	end := following(t, ImportOptions{Broker: b, DataDir: t.TempDir(), Paths: []string{name}, Rest: 20 * time.Millisecond})
	seen := watch(t, srv)
	seen.await("a", events.RunFinished)
	appendTo(t, name, userLine("a", "2", "two"))
	seen.await("a", events.RunFinished)
	if sum := end(); sum.Known != 0 || sum.New != sum.Events+1 { // the file grew after the first run.finished
		t.Errorf("got %+v, want each event once, and one that was overtaken", sum.Counts)
	}
}

// Following a recorded session that grows line by line gives the same events as one
// import.
func TestImport_FollowRecorded(t *testing.T) {
	data, err := os.ReadFile(realdata.Path(t, "codex", "madshn-localpush", "raw", "sessions", "rollout-2026-02-23T12-41-04-019c8a4d-8f45-7010-8b5d-7fad920aa6f9.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	const run = "019c8a4d-8f45-7010-8b5d-7fad920aa6f9"
	name := filepath.Join(t.TempDir(), "rollout.jsonl")
	writeText(t, name, "")
	srv, b := open(t)
	end := following(t, ImportOptions{Broker: b, DataDir: t.TempDir(), Paths: []string{name}, Rest: time.Hour})
	seen := watch(t, srv)
	for i, part := range slices.Collect(slices.Chunk(strings.SplitAfter(string(data), "\n"), 100)) {
		appendTo(t, name, strings.Join(part, ""))
		if i < 4 {
			seen.await(run, events.ToolResult)
		}
	}
	sum := end()
	want := FileSummary{File: name, Format: "codex", Counts: Counts{Events: 420, New: 420}, Contents: Contents{ToolCalls: 118}}
	if diff := cmp.Diff([]FileSummary{want}, sum.Files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := len(without(srv.Events(t))); got != 420 {
		t.Errorf("got %d events in the stream, want 420", got)
	}
}

// Import reads stdin while it arrives, and finishes its runs when it is stopped.
func TestImport_Stdin(t *testing.T) {
	srv, b := open(t)
	in, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Import(ctx, ImportOptions{Broker: b, DataDir: t.TempDir(), Paths: []string{"-"}, Stdin: in})
		ended <- err
	}()
	seen := watch(t, srv)
	for _, line := range []string{
		`{"type":"thread.started","thread_id":"t"}`, `{"type":"turn.started"}`,
		`{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"4"}}`,
	} {
		if _, err := io.WriteString(out, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	seen.await("t", events.MessageCreated)
	if at := seen.all[0].Time; time.Since(at) > time.Minute {
		t.Errorf("got time %v, want that of the arrival", at)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	seen.await("t", events.RunFinished)
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
