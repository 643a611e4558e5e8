package hookclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
)

// A hook command ends, whatever it meets: a stdin that nobody closes, a hooks.yaml
// on a disk that hangs, a payload that takes minutes to redact. It then says what
// it knows, and an event tells that one is missing.

const (
	// grace is how long a hook command may take beyond the time for a decision. It
	// is less than install has agents wait.
	grace = 2 * time.Second
	// lastWords bounds how long it may take to tell that an event is missing.
	lastWords = 200 * time.Millisecond
)

// errLate is why a hook command gives up.
var errLate = errors.New("not done in time; the event of this hook is missing")

// answered is what came of a payload.
type answered struct {
	reply    agents.Reply
	problems []string
	close    func(ctx context.Context) // waits for hooks that nobody waits for
}

// standby is what to say of a payload when there is no time for more.
type standby struct {
	run   string // that it is of, empty while that is not known
	reply agents.Reply
}

// stand has r be the answer, should there be no time for another.
func (h *hook) stand(run string, r agents.Reply) { h.standby.Store(&standby{run, r}) }

// answer is run within the time that the agent waits, and without its panics. h
// is not to be used any more: where time was up, run may still do so.
func (h *hook) answer(ctx context.Context) answered {
	over := time.NewTimer(h.patience)
	defer over.Stop()
	h.stand("", agents.Reply{})
	if h.FailClosed && h.tool != nil { // until it is known what is asked
		h.stand("", h.tool.FailClosed(agents.Payload{}, closedReason(errLate)))
	}
	dataDir, tenant := h.dataDir, h.tenant
	done := make(chan answered, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- gaveUp(dataDir, tenant, *h.standby.Load(), fmt.Errorf("internal error: %v", r))
			}
		}()
		reply := h.run(ctx)
		done <- answered{reply: reply, problems: h.problems, close: h.close}
	}()
	select {
	case a := <-done:
		return a
	case <-over.C:
		return gaveUp(dataDir, tenant, *h.standby.Load(), errLate)
	}
}

// gaveUp tells that an event is missing because of err. What is told is written
// into a file of its own: whatever hangs may have the outbox.
func gaveUp(dataDir, tenant string, s standby, err error) answered {
	h := &hook{dataDir: dataDir, tenant: tenant, problems: []string{err.Error()}}
	written := make(chan error, 1)
	go func() { written <- spool(dataDir, h.told(s.run, nil)) }()
	over := time.NewTimer(lastWords)
	defer over.Stop()
	a := answered{reply: s.reply, problems: h.problems, close: func(context.Context) {}}
	select {
	case err := <-written:
		if err != nil {
			a.problems = append(a.problems, err.Error())
		}
	case <-over.C:
	}
	return a
}

// close waits for hooks that nobody waits for, until ctx ends.
func (h *hook) close(ctx context.Context) {
	if h.local != nil {
		_ = h.local.Close(ctx) // those that go on are killed with this process
	}
}
