package outbox

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
)

// childEnv turns the test binary into a process that appends until it is killed.
const childEnv = "HOOKTRAIL_PUBLISH_CHILD"

func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		child := appendForever
		switch list := strings.Split(args, "|"); list[0] {
		case "share":
			child = shareSome
		case "forward":
			child = forwardForever
		}
		if err := child(strings.Split(args, "|")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	checks := "12" // of the model test; -rapid.checks changes it
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "rapid.checks" {
			checks = f.Value.String()
		}
	})
	if err := flag.Set("rapid.checks", checks); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// appendForever prints the number of each event after Append has returned.
func appendForever(args []string) error {
	dir, url, round := args[0], args[1], args[2]
	nc, err := nats.Connect(url, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond))
	if err != nil {
		return err
	}
	opts := Options{
		Dir: dir, Name: "crash", Redactor: NoRedaction, SegmentBytes: 16 << 10, BatchEvents: 40,
		Linger: time.Millisecond, SealDelay: 5 * time.Millisecond,
	}
	if n, err := strconv.Atoi(round); err != nil || n%3 == 0 {
		opts.Durability = DiskDurability
	}
	p, err := Open(context.Background(), atomicbatch.Over(nc), opts)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		e := newEvent(n)
		e.ID, e.Run = round+":"+strconv.Itoa(n), "run-"+round
		if n%10 == 9 {
			e.Type, e.Data = events.RunFinished.Type(), []byte(`{"success":true}`)
		}
		e.Tenant = []string{"acme", "globex"}[n%2]
		if n%50 == 49 {
			e.Type, e.Data = events.PromptSubmit.Type(), []byte(`{"prompt":"`+strings.Repeat("x", 1_100_000)+`"}`)
		}
		if _, err := p.Append(context.Background(), e); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// killedChild runs a child for a while, kills it, and returns the number of appends that returned.
func killedChild(tb testing.TB, dir, url string, round int) (returned int) {
	tb.Helper()
	cmd, lines := child(tb, dir, url, strconv.Itoa(round))
	var timer *time.Timer
	for lines.Scan() {
		if timer == nil { // the child has begun
			timer = time.AfterFunc(rand.N(60*time.Millisecond), func() { _ = cmd.Process.Kill() })
		}
		if _, err := strconv.Atoi(lines.Text()); err == nil {
			returned++
		}
	}
	err := cmd.Wait()
	if timer == nil {
		tb.Fatalf("child did nothing: %v", err)
	}
	return returned
}

// Processes are killed at random moments, and the server is restarted meanwhile. Each event for
// which Append returned arrives, and at most one more of each process.
//
//guarantee:append-killed
func TestCrash_KilledProcesses(t *testing.T) {
	srv := natstest.Listen(t, t.TempDir(), natstest.Options{MaxBytes: 512 << 20})
	dir := t.TempDir()
	rounds := 25
	if testing.Short() {
		rounds = 6
	}
	returned := make([]int, rounds)
	for round := range rounds {
		isDown := round%4 == 2
		if isDown {
			srv.Stop()
		}
		returned[round] = killedChild(t, dir, srv.URL(), round)
		if isDown {
			srv.Restart(t)
		}
	}
	opts := Options{Dir: dir, Name: "crash", Redactor: NoRedaction}
	p := mustOpen(t, srv.Connect(t), opts)
	mustClose(t, p)

	h := checkStream(t, srv)
	_, list := assembleAll(t, h.events)
	next := make([]int, rounds)
	happened := 0
	order := map[string]int{}
	for _, e := range list {
		var round, n int
		if _, err := fmt.Sscanf(e.ID, "%d:%d", &round, &n); err != nil {
			t.Fatal(err)
		}
		// The events of each tenant are in order.
		key := e.Tenant + strconv.Itoa(round)
		if last, ok := order[key]; ok && n != last+2 || !ok && n > 1 {
			t.Fatalf("round %d: #%d came after #%d", round, n, last)
		}
		order[key] = n
		next[round]++
	}
	total := 0
	for round, n := range returned {
		total += n
		switch next[round] - n {
		case 0:
		case 1:
			happened++
		default:
			t.Errorf("round %d: %d appends returned, %d events are there", round, n, next[round])
		}
	}
	if len(h.manifests) != 2 || len(h.gaps) > 0 {
		t.Errorf("%d chains, gaps %+v", len(h.manifests), h.gaps)
	}
	t.Logf("%d events of %d killed processes; %d more had happened; %d repeats in the stream", total, rounds, happened, h.repeats)
}

func assembleAll(tb testing.TB, list []events.Event) (chunks int, rest []events.Event) {
	tb.Helper()
	for _, e := range list {
		if e.Kind() == events.BlobChunk {
			chunks++
			continue
		}
		rest = append(rest, e)
	}
	return chunks, rest
}
