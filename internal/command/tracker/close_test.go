package tracker

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func (p *pipeline) serve() (stop func()) {
	p.TB.Helper()
	b, err := broker.Open(p.TB.Context(), broker.Options{URL: p.Server.URL(), DataDir: p.DataDir, Name: tracker.Name})
	if err != nil {
		p.TB.Fatal(err)
	}
	ctx, cancel := context.WithCancel(p.TB.Context())
	works := make(chan struct{})
	begun := sync.OnceFunc(func() { close(works) })
	opts := tracker.Options{Broker: b, DataDir: p.DataDir, Progress: func(consume.Progress) { begun() }}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := tracker.Run(ctx, opts); err != nil {
			p.TB.Errorf("serve: %v", err)
		}
	})
	select {
	case <-works:
	case <-time.After(time.Minute):
		p.TB.Error("the tracker does not get to work")
	}
	return sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		if err := b.Close(context.WithoutCancel(p.TB.Context())); err != nil {
			p.TB.Errorf("close the broker: %v", err)
		}
	})
}

//guarantee:close-offline
func TestClose(t *testing.T) {
	p := newPipeline(t)
	p.Publish("engine", rulestest.Story(t)...)
	p.mustDrain()
	list := p.open()
	if len(list) < 3 {
		t.Fatalf("got %d open issues, want 3", len(list))
	}
	// Without a running tracker, the next one applies the stored edit.
	waiting := callJSON[tracker.Closing](t, p.DataDir, "close", list[0].ID, "--tenant", "acme", "--reason", "done by hand", "--by", "jdoe")
	if waiting.Taken || waiting.Status == rules.Closed || waiting.Action != "closed" {
		t.Errorf("without a tracker: %+v", waiting)
	}
	p.mustDrain()
	d := callJSON[tracker.Details](t, p.DataDir, "show", list[0].ID, "--tenant", "acme")
	if d.Status != rules.Closed || len(d.Edits) != 1 || d.Edits[0].Event != waiting.Event {
		t.Errorf("after a drain the issue is %s, edits %+v", d.Status, d.Edits)
	}

	stop := p.serve()
	defer stop()
	taken := callJSON[tracker.Closing](t, p.DataDir, "close", list[1].ID, "--tenant", "acme", "--not-planned", "--reason", "out of fashion", "--by", "jdoe")
	if !taken.Taken || taken.Status != rules.Closed || taken.Action != "not_planned" {
		t.Errorf("beside a tracker: %+v", taken)
	}
	status, stdout, stderr := call(t, p.DataDir, "close", list[2].ID, "--tenant", "acme", "--reason", "gone")
	if want := "closed " + list[2].ID + ": gone (by "; status != cli.ExitOK || !strings.HasPrefix(stdout, want) {
		t.Errorf("exit status %d, %q, %s", status, stdout, stderr)
	}
	stop()
	var edits []string
	for _, e := range p.Stored(events.IssueEdited) {
		edit, err := events.Payload[events.IssueEditedData](e)
		if err != nil {
			t.Fatal(err)
		}
		edits = append(edits, edit.Issue+" "+edit.Action)
	}
	want := []string{list[0].ID + " closed", list[1].ID + " not_planned", list[2].ID + " closed"}
	if !slices.Equal(edits, want) {
		t.Errorf("edits in the stream are %v, want %v", edits, want)
	}
}

//guarantee:close-offline
func TestClose_Refuses(t *testing.T) {
	p := newPipeline(t)
	p.Publish("engine", rulestest.Story(t)...)
	p.mustDrain()
	closed := rules.Issue{}.ID
	all, err := tracker.List(t.Context(), p.DataDir, "acme")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Status == rules.Closed {
			closed = i.ID
		}
	}
	for _, test := range []struct {
		name string
		args []string
		want int
		says string
	}{
		{"Closed", []string{closed, "--reason", "x", "--tenant", "acme"}, cli.ExitError, "closed already"},
		{"Unknown", []string{"ht-0000000000000", "--reason", "x", "--tenant", "acme"}, cli.ExitError, "no such issue"},
		{"OfAnotherTenant", []string{all[0].ID, "--reason", "x", "--tenant", "beta"}, cli.ExitError, "no such issue"},
		{"WithoutReason", []string{all[0].ID, "--tenant", "acme"}, cli.ExitUsage, "--reason"},
		{"WithoutID", []string{"--reason", "x"}, cli.ExitUsage, "arg"},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, stdout, stderr := call(t, p.DataDir, append([]string{"close"}, test.args...)...)
			if status != test.want || stdout != "" || !strings.Contains(stderr, test.says) {
				t.Errorf("exit status %d, %q, %q", status, stdout, stderr)
			}
		})
	}
	if got := p.Stored(events.IssueEdited); len(got) != 0 {
		t.Errorf("%d edits were published", len(got))
	}
}
