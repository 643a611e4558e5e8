package tracker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/broker"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// The child process is this test binary again: a tracker that kills itself.
const (
	childURL   = "TRACKER_TEST_URL"
	childDir   = "TRACKER_TEST_DIR"
	childStage = "TRACKER_TEST_STAGE"
)

func TestMain(m *testing.M) {
	if os.Getenv(childURL) == "" {
		os.Exit(m.Run())
	}
	if err := child(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child drains the stream, and is killed when it comes to a stage.
func child(ctx context.Context) error {
	b, err := broker.Open(ctx, broker.Options{URL: os.Getenv(childURL), DataDir: os.Getenv(childDir), Name: Name})
	if err != nil {
		return err
	}
	err = Run(ctx, Options{Broker: b, DataDir: os.Getenv(childDir), Drain: true, stage: func(stage string) {
		if stage == os.Getenv(childStage) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			<-ctx.Done()
		}
	}})
	return errors.Join(err, b.Close(ctx))
}

// TestRun_KilledBetweenStages kills a tracker with SIGKILL at each of its
// stages, several times without a whole run in between: no decision is lost or
// published twice, and the issues are those of a tracker that was never killed.
func TestRun_KilledBetweenStages(t *testing.T) {
	p := newPipeline(t)
	stages := []string{"folded", "committed", "applied", "flushed", "settled", "published", "marked"}
	for i, stage := range append(stages, stages...) {
		p.publish(fmt.Sprintf("engine%d", i), renamed(story(t), fmt.Sprint(i))...)
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.WaitDelay = time.Second
		cmd.Env = append(os.Environ(), childURL+"="+p.server.URL(), childDir+"="+p.dataDir, childStage+"="+stage)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !strings.Contains(exit.Error(), "killed") {
			t.Fatalf("child at stage %s: %v\n%s", stage, err, out)
		}
	}
	p.mustDrain()
	p.check()
}

// renamed returns list with runs and ids of its own.
func renamed(list []events.Event, suffix string) []events.Event {
	for i := range list {
		e := &list[i]
		e.ID += "-" + suffix
		e.Run += "-" + suffix
		e.Subject = e.Run
	}
	return list
}
