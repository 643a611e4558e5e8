package outbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

var stormProcesses = race.Size(64, 24)

const (
	stormAppends = 12
	stormSegment = 16 << 10
)

// shareSome appends to a shared outbox and prints the id of each accepted event.
func shareSome(args []string) error {
	dir, name := args[1], args[2]
	opts := SharedOptions{Redactor: NoRedaction, SegmentBytes: stormSegment}
	if name[len(name)-1] == '7' {
		opts.Durability = DiskDurability
	}
	for n := range stormAppends {
		list := make([]events.Event, 1+n%3)
		for i := range list {
			list[i] = newEvent(n)
			list[i].ID = fmt.Sprintf("%s:%d:%d", name, n, i)
			list[i].Tenant, list[i].Run = []string{"acme", "globex"}[n%2], "run-"+name
		}
		if n == 5 { // travels as blob chunks
			list[0].Type, list[0].Data = events.PromptSubmit.Type(), []byte(`{"prompt":"`+strings.Repeat("x", 1_100_000)+`"}`)
		}
		stored, err := AppendShared(context.Background(), dir, opts, list...)
		if err != nil {
			return err
		}
		for _, e := range stored {
			fmt.Println(e.ID)
		}
	}
	return nil
}

func forwardForever(args []string) error {
	nc, err := nats.Connect(args[2], nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond))
	if err != nil {
		return err
	}
	_, err = OpenShared(context.Background(), atomicbatch.Over(nc), Options{
		Dir: args[1], Redactor: NoRedaction, SegmentBytes: stormSegment, BatchEvents: 40, Linger: time.Millisecond,
	})
	if err != nil {
		return err
	}
	fmt.Println("forwards")
	select {} // until it is killed
}

// child starts this test binary as a process with a role.
func child(tb testing.TB, args ...string) (*exec.Cmd, *bufio.Scanner) {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(args, "|"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// appender runs a process of the storm to its end, or kills it after some appends, and returns the
// ids of the accepted events.
func appender(tb testing.TB, dir string, number int) (accepted []string) {
	tb.Helper()
	cmd, lines := child(tb, "share", dir, strconv.Itoa(number))
	killed, die := number%4 == 3, rand.N(2*stormAppends)
	for lines.Scan() {
		accepted = append(accepted, lines.Text())
		if killed && len(accepted) > die {
			time.AfterFunc(rand.N(2*time.Millisecond), func() { _ = cmd.Process.Kill() })
			killed = false
		}
	}
	if err := cmd.Wait(); err != nil && number%4 != 3 {
		tb.Errorf("process %d: %v", number, err)
	}
	return accepted
}

// Many processes append at once. One in four is killed, and so are the forwarders and the server.
// Each accepted event arrives once, and the numbers have no gap.
//
//guarantee:shared-outbox
func TestShared_Storm(t *testing.T) {
	srv := natstest.Listen(t, t.TempDir(), natstest.Options{MaxBytes: 512 << 20})
	dir := t.TempDir()
	accepted := make([][]string, stormProcesses)
	var appenders sync.WaitGroup
	for n := range stormProcesses {
		appenders.Go(func() { accepted[n] = appender(t, dir, n) })
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		appenders.Wait()
	}()
	restarts := 0
	for ; !isClosed(over); restarts++ {
		cmd, lines := child(t, "forward", dir, srv.URL())
		if !lines.Scan() {
			t.Errorf("the forwarder did not begin: %v", lines.Err())
		}
		if restarts%3 == 1 {
			srv.Stop()
			srv.Restart(t)
		}
		select {
		case <-over:
		case <-time.After(rand.N(300 * time.Millisecond)):
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
	mustClose(t, mustOpenShared(t, srv, dir))

	h := checkStream(t, srv)
	_, list := assembleAll(t, h.events)
	seen, count := map[string]int{}, 0
	for _, e := range list {
		seen[e.ID]++
	}
	for _, ids := range accepted {
		count += len(ids)
		for _, id := range ids {
			if seen[id] != 1 {
				t.Errorf("%s was accepted and is there %d times", id, seen[id])
			}
		}
	}
	for id, times := range seen {
		if times > 1 {
			t.Errorf("%s is there %d times", id, times)
		}
	}
	if len(h.manifests) != 2 || len(h.gaps) > 0 {
		t.Errorf("%d chains, want one per tenant; gaps %+v", len(h.manifests), h.gaps)
	}
	if more := len(list) - count; more > 3*stormProcesses/4 { // of the call during which a process was killed
		t.Errorf("%d events that were not accepted are there", more)
	}
	t.Logf("%d events accepted, %d more are there; the forwarder was killed %d times; %d repeats", count, len(list)-count, restarts, h.repeats)
}

//guarantee:outbox-full
func TestShared_Shed(t *testing.T) {
	for name, forwards := range map[string]bool{"ForwardedLater": false, "ForwardedMeanwhile": true} {
		t.Run(name, func(t *testing.T) {
			srv := natstest.Listen(t, t.TempDir())
			dir := t.TempDir()
			opts := testOptions(t, dir)
			opts.Quota = 16 << 10
			shared := sharedOptions()
			shared.Quota, shared.Full = opts.Quota, Shed
			if forwards {
				nc := srv.Connect(t)
				srv.Stop()
				p, err := OpenShared(t.Context(), atomicbatch.Over(nc), opts)
				if err != nil {
					t.Fatal(err)
				}
				defer mustClose(t, p)
			}
			var taken, shed []uint64
			for n := range 100 {
				list, err := AppendShared(t.Context(), dir, shared, newEvent(n))
				switch {
				case err == nil:
					taken = append(taken, list[0].Sequence)
				case errors.Is(err, ErrShed):
					shed = append(shed, list[0].Sequence)
				default:
					t.Fatal(err)
				}
			}
			first, last := shed[0], shed[len(shed)-1]
			outbox, err := Inspect(dir)
			if err != nil || len(outbox.Gaps) != 1 || outbox.Gaps[0].First != first || outbox.Gaps[0].Last != last {
				t.Errorf("state %+v, error %v; want the gap %d–%d", outbox, err, first, last)
			}
			if forwards {
				srv.Restart(t)
			} else {
				mustClose(t, mustOpenSharedWith(t, srv, opts))
			}
			until(t, "all arrived", func() bool { s, err := Inspect(dir); return err == nil && s.Waiting == 0 && len(s.Gaps) == 0 })
			h := checkStream(t, srv)
			if len(h.events) != len(taken) {
				t.Errorf("%d events, want %d", len(h.events), len(taken))
			}
			h.wantGap(t, first, last, state.ReasonShed)
		})
	}
}

func fillShared(tb testing.TB, dir string, opts SharedOptions) int {
	tb.Helper()
	for n := 0; ; n++ {
		_, err := AppendShared(tb.Context(), dir, opts, newEvent(n))
		if errors.Is(err, ErrFull) {
			return n
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

//guarantee:outbox-full
func TestShared_Full(t *testing.T) {
	srv := natstest.Start(t)
	dir := t.TempDir()
	opts := sharedOptions()
	opts.Quota, opts.Full = 16<<10, Fail
	taken := fillShared(t, dir, opts)
	opts.Full = Block
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := AppendShared(short, dir, opts, newEvent(taken)); !errors.Is(err, ErrFull) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without room: got %v, want %v", err, context.DeadlineExceeded)
	}
	waited := make(chan error, 1)
	go func() {
		_, err := AppendShared(t.Context(), dir, opts, newEvent(taken))
		waited <- err
	}()
	p := mustOpenShared(t, srv, dir)
	if err := <-waited; err != nil {
		t.Errorf("once there is room: %v", err)
	}
	mustClose(t, p)
	checkShared(t, srv, taken+1)
}

//guarantee:shared-outbox
func TestShared_Disk(t *testing.T) {
	srv := natstest.Start(t)
	dir := filepath.Join(tinyDisk(t, "768k"), "shared")
	opts := sharedOptions()
	opts.SegmentBytes, opts.Full = 32<<10, Fail
	taken := fillShared(t, dir, opts)
	opts.Full = Shed
	lost, err := AppendShared(t.Context(), dir, opts, newEvent(taken))
	if !errors.Is(err, ErrShed) || len(lost) != 1 || lost[0].Sequence != uint64(taken+1) {
		t.Fatalf("on a full disk: %d events, error %v; want the one that is lost, and %v", len(lost), err, ErrShed)
	}
	o := testOptions(t, dir)
	o.SegmentBytes = opts.SegmentBytes
	p := mustOpenSharedWith(t, srv, o)
	mustFlush(t, p)
	for n := range 100 {
		if _, err := AppendShared(t.Context(), dir, opts, newEvent(taken+1+n)); err != nil {
			t.Fatalf("event %d once there is room: %v", n, err)
		}
	}
	mustClose(t, p)
	h := checkStream(t, srv)
	if len(h.events) != taken+100 {
		t.Errorf("%d events, want %d", len(h.events), taken+100)
	}
	h.wantGap(t, lost[0].Sequence, lost[0].Sequence, state.ReasonShed)
	t.Logf("%d events filled the disk", taken)
}
