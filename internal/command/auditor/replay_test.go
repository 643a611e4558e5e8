package auditor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

func appendAt(tb testing.TB, p *publish.Publisher, run string, t time.Time) events.Event {
	tb.Helper()
	e, err := events.New(events.Custom, "/test", map[string]string{"text": "at " + t.Format(time.TimeOnly)})
	if err != nil {
		tb.Fatal(err)
	}
	e.Run, e.Time = run, t
	if e, err = p.Append(tb.Context(), e); err != nil {
		tb.Fatal(err)
	}
	return e
}

func idsOf(tb testing.TB, text string) []string {
	tb.Helper()
	var ids []string
	for line := range strings.Lines(text) {
		e, err := events.Decode([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			tb.Fatal(err)
		}
		ids = append(ids, e.ID)
	}
	return ids
}

//guarantee:replay
func TestReplay_ByRunAndTime(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	start := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	var ids []string
	for i := range 600 { // more than a page
		e := appendAt(t, p, fmt.Sprintf("r%d", i%2), start.Add(time.Duration(i)*time.Second))
		ids = append(ids, e.ID)
	}
	if err := p.Flush(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	drain(t, b, dir)
	odd := func(ids []string) (list []string) {
		for i := 1; i < len(ids); i += 2 {
			list = append(list, ids[i])
		}
		return list
	}
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"Run", []string{"--run", "r1"}, odd(ids)},
		{"Day", []string{"--from", "2026-11-20", "--to", "2026-11-21"}, ids},
		{"From", []string{"--from", "2026-11-20T09:09:50Z"}, ids[590:]},
		{"ToIsBefore", []string{"--to", "2026-11-20T10:00:03+01:00"}, ids[:3]},
		{"RunAndTime", []string{"--run", "r1", "--to", "2026-11-20T09:00:06Z"}, odd(ids[:6])},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"replay", "--data-dir", dir, "--tenant", "acme"}, tt.args...)
			status, first := command(t, args...)
			_, second := command(t, append(args, "--speed", "100000x")...)
			if diff := cmp.Diff(tt.want, idsOf(t, first)); status != 0 || diff != "" {
				t.Errorf("status %d, ids (-want +got):\n%s", status, diff)
			}
			if first != second {
				t.Error("the same selection gave other bytes at another speed")
			}
		})
	}
}

//guarantee:replay
func TestReplay_RefusesWhatItCannotDo(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 1)
	drain(t, b, dir)
	for _, tt := range []struct {
		name string
		args []string
		want int
	}{
		{"Nothing", nil, 2},
		{"NoTime", []string{"--from", "yesterday"}, 2},
		{"BackInTime", []string{"--from", "2026-11-20", "--to", "2026-11-20"}, 2},
		{"NoSpeed", []string{"--run", "r1", "--speed", "fast"}, 2},
		{"SpeedNaN", []string{"--run", "r1", "--speed", "NaN"}, 2},
		{"SpeedBackwards", []string{"--run", "r1", "--speed", "-1x"}, 2},
		{"Wildcard", []string{"--run", "r1", "--subject", "a.>"}, 2},
		{"OwnSubject", []string{"--run", "r1", "--subject", "hooktrail.ev.acme.p.r1.custom"}, 2},
		{"ServersSubject", []string{"--run", "r1", "--subject", "$JS.API.INFO"}, 2},
		{"NobodyThen", []string{"--from", "1999-01-01", "--to", "1999-01-02"}, 1},
		{"NoBroker", []string{"--run", "r1", "--subject", "replay.acme"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, text := command(t, append([]string{"replay", "--data-dir", dir, "--tenant", "acme"}, tt.args...)...)
			if status != tt.want || text != "" {
				t.Errorf("got status %d, %q, want %d", status, text, tt.want)
			}
		})
	}
}

//guarantee:replay
func TestReplay_ToASubject(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 300)
	drain(t, b, dir)
	got := make(chan string, 1000)
	sub, err := b.Conn().Subscribe("replay.acme", func(m *nats.Msg) { got <- string(m.Data) })
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Conn().Flush(); err != nil {
		t.Fatal(err)
	}
	at := []string{"replay", "--data-dir", dir, "--tenant", "acme", "--run", "r1"}
	_, want := command(t, at...)
	if status, text := command(t, append(at, "--nats-url", s.URL(), "--subject", "replay.acme")...); status != 0 || text != "" {
		t.Fatalf("status %d, %q", status, text)
	}
	for line := range strings.Lines(want) {
		select {
		case text := <-got:
			if text+"\n" != line {
				t.Fatalf("got %q, want %q", text, line)
			}
		case <-auditortest.Deadline(t).Done():
			t.Fatal("an event is missing")
		}
	}
	if err := sub.Unsubscribe(); err != nil || len(got) > 0 {
		t.Errorf("%v, %d too many", err, len(got))
	}
	auditortest.WantVerdicts(t, auditortest.Verify(t, dir, "acme"), verifier.Verified, verifier.Complete)
}

func TestReplay_ToTheEmbeddedBroker(t *testing.T) {
	dir := t.TempDir()
	b := embedded(t, dir)
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	sub, err := b.Conn().SubscribeSync("replay.acme")
	if err = errors.Join(err, b.Conn().Flush()); err != nil {
		t.Fatal(err)
	}
	at := []string{"replay", "--data-dir", dir, "--tenant", "acme", "--run", "r1"}
	_, want := command(t, at...)
	if status, _ := command(t, append(at, "--subject", "replay.acme")...); status != 0 {
		t.Fatalf("status %d", status)
	}
	for line := range strings.Lines(want) {
		if m, err := sub.NextMsgWithContext(auditortest.Deadline(t)); err != nil || string(m.Data)+"\n" != line {
			t.Fatalf("got %v, %v, want %q", m, err, line)
		}
	}
	if err := sub.Unsubscribe(); err != nil {
		t.Error(err)
	}
}

func TestReplay_WithoutTheRight(t *testing.T) {
	dir := t.TempDir()
	b := embedded(t, dir)
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 50)
	drain(t, b, dir)
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr")) // output of libraries
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = stderr
	status, _, errs := commandBoth(t, "replay", "--data-dir", dir, "--tenant", "acme", "--run", "r1",
		"--subject", "replay.acme", "--nats-url", b.URL()) // a local client without credentials
	os.Stderr = before
	if err := stderr.Close(); err != nil {
		t.Fatal(err)
	}
	errs += string(auditortest.ReadFile(t, stderr.Name()))
	if status != 1 || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "replay.acme") {
		t.Errorf("got status %d:\n%s", status, errs)
	}
}

//guarantee:replay
func TestPacer_Waits(t *testing.T) {
	start := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	// Seconds after the first event.
	happened := []int{0, 10, 5, 60, 60}
	for _, tt := range []struct {
		speed string
		want  []time.Duration
	}{
		{"max", []time.Duration{0, 0, 0, 0, 0}},
		{"1x", []time.Duration{0, 10 * time.Second, 10 * time.Second, time.Minute, time.Minute}},
		{"10x", []time.Duration{0, time.Second, time.Second, 6 * time.Second, 6 * time.Second}},
		{"0.5x", []time.Duration{0, 20 * time.Second, 20 * time.Second, 2 * time.Minute, 2 * time.Minute}},
	} {
		t.Run(tt.speed, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pacer{flush: func() error { return nil }}
				if err := p.speed.Set(tt.speed); err != nil || p.speed.String() != tt.speed {
					t.Fatal(err, p.speed.String())
				}
				begun := time.Now()
				var got []time.Duration
				for _, s := range happened {
					if err := p.wait(t.Context(), start.Add(time.Duration(s)*time.Second)); err != nil {
						t.Fatal(err)
					}
					got = append(got, time.Since(begun))
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("waits (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestPacer_StopsAndFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		flushed := 0
		p := pacer{speed: 1, flush: func() error { flushed++; return nil }}
		if err := p.wait(ctx, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, cancel)
		if err := p.wait(ctx, time.Unix(1, 0).AddDate(200, 0, 0)); !errors.Is(err, context.Canceled) || flushed != 1 {
			t.Errorf("got %v and %d flushes, want that it was cancelled, and one", err, flushed)
		}
	})
}
