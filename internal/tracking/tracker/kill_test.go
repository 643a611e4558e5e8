package tracker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// The child is this test binary, which runs a tracker that kills itself.
const (
	childURL   = "TRACKER_TEST_URL"
	childDir   = "TRACKER_TEST_DIR"
	childStage = "TRACKER_TEST_STAGE" // stage at which the child kills itself
	childTimes = "TRACKER_TEST_TIMES" // the child kills itself when it reaches the stage this many times
	childServe = "TRACKER_TEST_SERVE" // serve instead of drain
)

const killsVariable = "HOOKTRAIL_TEST_KILLS"

func TestMain(m *testing.M) {
	if os.Getenv(childURL) == "" {
		os.Exit(m.Run())
	}
	if err := child(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(ctx context.Context) error {
	b, err := broker.Open(ctx, broker.Options{URL: os.Getenv(childURL), DataDir: os.Getenv(childDir), Name: Name})
	if err != nil {
		return err
	}
	left, _ := strconv.Atoi(os.Getenv(childTimes))
	err = Run(ctx, Options{Broker: b, DataDir: os.Getenv(childDir), Drain: os.Getenv(childServe) == "", stage: func(stage string) {
		if stage != os.Getenv(childStage) {
			return
		}
		if left--; left <= 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			<-ctx.Done()
		}
	}})
	return errors.Join(err, b.Close(ctx))
}

func (p *pipeline) child(env ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.TB.Context(), os.Args[0])
	cmd.WaitDelay = time.Second
	cmd.Env = append(append(os.Environ(), childURL+"="+p.Server.URL(), childDir+"="+p.DataDir), env...)
	return cmd
}

var stages = []string{"folded", "committed", "applied", "flushed", "settled", "published", "marked"}

// TestRun_KilledBetweenStages kills a tracker at each stage, several times without a complete run
// in between. No decision is lost or published twice, and the issues are the same as without kills.
//
//guarantee:consumer-killed
func TestRun_KilledBetweenStages(t *testing.T) {
	p := newPipeline(t)
	for i, stage := range append(slices.Clip(stages), stages...) {
		p.Publish(fmt.Sprintf("engine%d", i), renamed(rulestest.Story(t), fmt.Sprint(i))...)
		out, err := p.child(childStage + "=" + stage).CombinedOutput()
		if !wasKilled(err) {
			t.Fatalf("child at stage %s: %v\n%s", stage, err, out)
		}
	}
	p.mustDrain()
	p.check()
}

func wasKilled(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && strings.Contains(exit.Error(), "killed")
}

// TestRun_KilledAtRandomPoints kills trackers while new events arrive, 60 times by default.
//
//guarantee:tracker-killed
func TestRun_KilledAtRandomPoints(t *testing.T) {
	t.Parallel()
	kills, err := strconv.Atoi(os.Getenv(killsVariable))
	if err != nil {
		kills = race.Size(60, 8)
	}
	p := newPipeline(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	killed, tries := 0, 0
	for ; killed < kills && tries < 3*kills; tries++ {
		p.Publish(fmt.Sprintf("engine%d", tries), renamed(rulestest.Story(t), fmt.Sprint(tries))...)
		var env []string
		if random.IntN(2) == 0 {
			env = append(env, childServe+"=1")
		}
		var after time.Duration
		if random.IntN(2) == 0 {
			env = append(env, childStage+"="+stages[random.IntN(len(stages))], childTimes+"="+strconv.Itoa(1+random.IntN(3)))
			after = 2 * time.Second // it may not reach the stage
		} else {
			after = time.Duration(random.IntN(400)) * time.Millisecond
		}
		if p.killed(after, env...) {
			killed++
		}
	}
	t.Logf("%d of %d were killed, the others were done", killed, tries)
	p.mustDrain()
	p.check()
}

// killed reports whether it had to kill the tracker.
func (p *pipeline) killed(after time.Duration, env ...string) bool {
	p.TB.Helper()
	cmd := p.child(env...)
	if err := cmd.Start(); err != nil {
		p.TB.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	return wasKilled(cmd.Wait())
}

// TestRun_ThreeTrackersKilledInTurns kills the active one of three trackers repeatedly. A standby
// continues.
//
//guarantee:tracker-killed
func TestRun_ThreeTrackersKilledInTurns(t *testing.T) {
	t.Parallel()
	p := newPipeline(t)
	var three []*exec.Cmd
	start := func() {
		cmd := p.child(childServe + "=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		three = append(three, cmd)
	}
	for range 3 {
		start()
	}
	for i := range 6 {
		p.Publish(fmt.Sprintf("engine%d", i), renamed(rulestest.Story(t), fmt.Sprint(i))...)
		id := fmt.Sprintf("acme-r1-006-%s-%d", events.RunFinished, i)
		p.waitFor(func() bool {
			x, err := Why(t.Context(), p.DataDir, "acme", id)
			return err == nil && len(x.Decisions) > 0
		})
		if err := three[0].Process.Kill(); err != nil { // active or waiting
			t.Fatal(err)
		}
		_ = three[0].Wait()
		three = three[1:]
		start()
	}
	for _, cmd := range three {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	p.mustDrain()
	p.check()
}

func (p *pipeline) waitFor(done func() bool) {
	p.TB.Helper()
	deadline := time.After(time.Minute)
	for tick := time.Tick(50 * time.Millisecond); !done(); {
		select {
		case <-tick:
		case <-deadline:
			p.TB.Fatal("nothing came of it")
		}
	}
}

func TestRun_RestartAfterEachEvent(t *testing.T) {
	t.Parallel()
	p := newPipeline(t)
	for i, e := range rulestest.LongStory(t) {
		p.Publish(fmt.Sprintf("engine%d", i), e, e) // twice
		p.mustDrain()
	}
	p.check()
	state, _ := rulestest.Fold(t, rulestest.LongStory(t))
	list, err := List(t.Context(), p.DataDir, "")
	if err != nil || len(list) != len(state.Issues()) {
		t.Errorf("got %d issues, error %v; want the %d of one life", len(list), err, len(state.Issues()))
	}
}

func renamed(list []events.Event, suffix string) []events.Event {
	for i := range list {
		e := &list[i]
		e.ID += "-" + suffix
		e.Run += "-" + suffix
		e.Subject = e.Run
	}
	return list
}
