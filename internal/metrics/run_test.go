package metrics

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/metricsdoc"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func publish(tb testing.TB, js jetstream.JetStream, all ...events.Event) {
	tb.Helper()
	acks := make([]jetstream.PubAckFuture, 0, len(all))
	for _, e := range all {
		subject, err := subjects.Space{}.Event(e.Tenant, e.Producer, e.Run, e.Kind())
		if err != nil {
			tb.Fatal(err)
		}
		ack, err := js.PublishMsgAsync(&nats.Msg{Subject: subject, Data: e.Encode()})
		if err != nil {
			tb.Fatal(err)
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			tb.Fatal(err)
		}
	}
}

func connect(tb testing.TB, server *natstest.Server) *broker.Broker {
	tb.Helper()
	b, err := broker.Open(tb.Context(), broker.Options{URL: server.URL(), Name: "test"})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return b
}

func page(tb testing.TB, address net.Addr, path string) (int, []byte) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, "http://"+address.String()+path, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return response.StatusCode, body
}

func TestRun_Serves(t *testing.T) {
	server := natstest.Listen(t, t.TempDir())
	publish(t, server.JetStream(t), recorded(t)...)
	address, caughtUp := make(chan net.Addr, 1), make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	opts := Options{
		Broker: connect(t, server), DataDir: t.TempDir(), Listen: "127.0.0.1:0",
		Listening: func(a net.Addr) { address <- a },
		Progress: func(p consume.Progress) {
			if p.Position.Sequence == 12 && p.Lag == 0 {
				select {
				case caughtUp <- struct{}{}:
				default:
				}
			}
		},
	}
	go func() { done <- Run(ctx, opts) }()
	at := <-address
	<-caughtUp
	if status, _ := page(t, at, "/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: got %d, want 200", status)
	}
	if status, _ := page(t, at, "/livez"); status != http.StatusOK {
		t.Errorf("/livez: got %d, want 200", status)
	}
	_, body := page(t, at, "/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	found, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("/metrics: %v", err)
	}
	for _, f := range families {
		if got := found[f.name]; got == nil && f != runsActive && f != stepsActive && f != deniedResults && f != numbersReused {
			t.Errorf("/metrics has no %s", f.name)
		}
	}
	for _, line := range []string{
		`hooktrail_tool_calls_total{status="error",tenant="acme",tool="Bash"} 1`,
		`hooktrail_tool_call_duration_seconds_bucket{tenant="acme",tool="Bash",le="0.05"} 1`,
		`hooktrail_tool_call_duration_seconds_sum{tenant="acme",tool="Bash"} 1.04`,
		`hooktrail_tool_call_duration_seconds_count{tenant="acme",tool="Bash"} 2`,
		`hooktrail_consumer_lag_messages{consumer="metrics"} 0`,
		`hooktrail_consumer_healthy{consumer="metrics"} 1`,
	} {
		if !strings.Contains(string(body), line+"\n") {
			t.Errorf("/metrics has no line %s", line)
		}
	}
	if found["hooktrail_consumer_last_event_timestamp_seconds"].GetMetric()[0].GetGauge().GetValue() < 1e9 {
		t.Error("/metrics does not tell when the last event was stored")
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("run: %v", err)
	}
}

func allMetrics(t *testing.T) *prometheus.Registry {
	t.Helper()
	dir := t.TempDir()
	all := append(recorded(t), event(t, 20, events.RunStarted, events.RunStartedData{}, run("open")),
		event(t, 21, events.StepFinished, events.StepFinishedData{StepStatus: events.StepRunning}, step("open")),
		event(t, 22, events.ToolResult, events.ToolResultData{Status: events.ToolSuccess}, call("c4")),
		event(t, 23, events.ResponseCompleted, events.ResponseCompletedData{}, from("p", 23)))
	if err := apply(t, dir, 100, messages(1, all...)...); err != nil {
		t.Fatal(err)
	}
	s, err := openState(t.Context(), dir, "", 100, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	c := newCollector(s, Consumer)
	c.note(consume.Progress{Position: projection.Position{Sequence: 7}, Err: errStarting})
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(c); err != nil {
		t.Fatal(err)
	}
	return registry
}

func TestDocs_Metrics(t *testing.T) {
	ofApp := "hooktrail_part_" // of package app
	metricsdoc.Check(t, "../../docs/operations.md", allMetrics(t), func(name string) bool { return !strings.HasPrefix(name, ofApp) })
}

func TestCollector_Lint(t *testing.T) {
	found, err := allMetrics(t).Gather()
	if err != nil {
		t.Fatal(err)
	}
	if want := len(families) + 4; len(found) != want {
		t.Errorf("got %d metrics, want %d", len(found), want)
	}
	problems, err := promlint.NewWithMetricFamilies(found).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestRun_DeadLettersAndGoesOn(t *testing.T) {
	server := natstest.Listen(t, t.TempDir())
	js := server.JetStream(t)
	all := recorded(t)
	publish(t, js, all[:5]...)
	if _, err := js.Publish(t.Context(), "hooktrail.ev.acme.p.r1.custom", []byte("no event")); err != nil {
		t.Fatal(err)
	}
	publish(t, js, all[5:]...)
	dir := t.TempDir()
	if err := Run(t.Context(), Options{Broker: connect(t, server), DataDir: dir, Drain: true}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(recordedValues, values(t, dir)); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	letters, err := js.Stream(t.Context(), subjects.Space{}.DeadLetterStream())
	if err != nil {
		t.Fatal(err)
	}
	if n := letters.CachedInfo().State.Msgs; n < 1 {
		t.Errorf("got %d dead letters, want 1", n)
	}
}

const (
	childURL = "HOOKTRAIL_TEST_METRICS_URL"
	childDir = "HOOKTRAIL_TEST_METRICS_DIR"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		os.Exit(child(url, os.Getenv(childDir)))
	}
	os.Exit(m.Run())
}

func child(url, dir string) int {
	ctx := context.Background()
	b, err := broker.Open(ctx, broker.Options{URL: url, Name: Consumer})
	if err == nil {
		tell := func(consume.Progress) { _, _ = os.Stdout.WriteString("batch\n") }
		err = errors.Join(Run(ctx, Options{Broker: b, DataDir: dir, Drain: true, batch: 50, Progress: tell}), b.Close(ctx))
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		return 1
	}
	return 0
}

// runUntil kills a child after some batches. It reports whether the child had finished before.
func runUntil(t *testing.T, url, dir string, batches int, moment time.Duration) (done bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childURL+"="+url, childDir+"="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for batches > 0 && lines.Scan() {
		batches--
	}
	if batches == 0 {
		<-time.After(moment)
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && (batches > 0 || !errors.As(err, &exit) || exit.Exited()) {
		t.Fatalf("child: %v\n%s", err, stderr.Bytes())
	}
	return err == nil
}

//guarantee:consumer-killed
func TestRun_KilledAtRandomMoments(t *testing.T) {
	const runs = 300
	server := natstest.Listen(t, t.TempDir(), natstest.Options{NoSync: true})
	publish(t, server.JetStream(t), many(t, runs)...)
	once, killed := t.TempDir(), t.TempDir()
	if err := Run(t.Context(), Options{Broker: connect(t, server), DataDir: once, Drain: true}); err != nil {
		t.Fatal(err)
	}
	kills := 0
	for !runUntil(t, server.URL(), killed, 1+rand.IntN(6), time.Duration(rand.IntN(5000))*time.Microsecond) {
		kills++
	}
	t.Logf("%d kills", kills)
	if kills < 5 {
		t.Errorf("got %d kills, want some more", kills)
	}
	if diff := cmp.Diff(dump(t, once), dump(t, killed)); diff != "" {
		t.Errorf("series after %d kills (-once +killed):\n%s", kills, diff)
	}
	if got := values(t, killed)[`runs_total["acme","RESOLVE","failed"]`]; got != strconv.Itoa(runs) {
		t.Errorf("got %s runs, want %d", got, runs)
	}
}

func many(tb testing.TB, runs int) []events.Event {
	tb.Helper()
	var all []events.Event
	for r := range runs {
		id := "r" + strconv.Itoa(r)
		for _, e := range recorded(tb) {
			run(id)(&e)
			e.ID += id
			e.Sequence = uint64(len(all) + 1)
			all = append(all, e)
		}
	}
	return all
}

func BenchmarkApply(b *testing.B) {
	all := messages(1, many(b, 1000)...)
	b.ReportAllocs()
	for b.Loop() {
		s, err := openState(b.Context(), b.TempDir(), "", 100, slog.New(slog.DiscardHandler))
		if err != nil {
			b.Fatal(err)
		}
		for n := 0; n < len(all); n += 1000 {
			last := all[n+999]
			if err := s.Apply(b.Context(), all[n:n+1000], consume.Position{Sequence: last.Sequence, Stream: t0}); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(all))/b.Elapsed().Seconds(), "events/s")
}
