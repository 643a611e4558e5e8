package hookclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const reportTimeout = 200 * time.Millisecond

var errLate = errors.New("not done in time; the event of this hook is missing")

type fallback struct {
	about     events.Event
	reply     agents.Reply
	undecided bool
}

func (c *call) setFallback(about []events.Event, r agents.Reply, undecided bool) {
	c.fallback.Store(&fallback{callOf(about), r, undecided})
}

// Answer reads one payload from stdin, asks the hooks, records the events and returns the reply. It
// takes at most 2.2 seconds longer than opts.Timeout, even if a disk hangs.
func Answer(ctx context.Context, stdin io.Reader, opts Options) Result {
	return answer(ctx, stdin, opts, opts.Timeout+hooksocket.Grace)
}

func answer(ctx context.Context, stdin io.Reader, opts Options, limit time.Duration) Result {
	deadline := time.Now().Add(limit)
	c := newCall(opts)
	c.setFallback(nil, agents.Reply{}, false)
	if opts.FailClosed && opts.Tool != nil {
		c.setFallback(nil, opts.Tool.FailClosed(agents.Payload{}, closedReason(errLate)), false)
	}
	done := make(chan Result, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- giveUp(opts, *c.fallback.Load(), fmt.Errorf("internal error: %v", r))
			}
		}()
		reply := c.run(ctx, stdin)
		done <- Result{Reply: reply, Problems: c.problems, hooks: c.hooks, deadline: deadline}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case r := <-done:
		return r
	case <-timer.C:
		return giveUp(opts, *c.fallback.Load(), errLate)
	}
}

func giveUp(opts Options, f fallback, err error) Result {
	r := Result{Reply: f.reply, Problems: []string{err.Error()}}
	list := problemEvent(opts.Tenant, f.about, f.undecided, r.Problems, nil)
	written := make(chan error, 1)
	go func() { written <- spool(opts.DataDir, opts.Publisher, list) }()
	timer := time.NewTimer(reportTimeout)
	defer timer.Stop()
	select {
	case err := <-written:
		if err != nil {
			r.Problems = append(r.Problems, err.Error())
		}
	case <-timer.C:
	}
	return r
}
