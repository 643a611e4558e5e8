package hookclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// MaxPayload bounds a hook payload. Of a longer one the event keeps how long it
// was.
const MaxPayload = 16 << 20

// hook answers one payload.
type hook struct {
	Flags
	dataDir string
	tenant  string // empty: the default, or that of the token
	token   string // for a publisher elsewhere
	stdin   io.Reader

	tool  *agents.Tool // nil: the command line names none
	event string

	patience time.Duration           // how long the agent waits, whatever happens
	standby  atomic.Pointer[standby] // what to say, should that time be over now

	wrong    error           // with the command line
	problems []string        // of this command itself: no text of a payload
	local    *hooks.Registry // of --hooks; nil: none
	away     bool            // the publisher elsewhere cannot be reached
}

// problem notes what is wrong with this command or around it.
func (h *hook) problem(err error) { h.problems = append(h.problems, err.Error()) }

// identify takes in the arguments.
func (h *hook) identify(args []string) {
	if h.Timeout <= 0 {
		h.problem(fmt.Errorf("--timeout %v: not positive; %v counts", h.Timeout, DefaultTimeout))
		h.Timeout = DefaultTimeout
	}
	if len(args) == 0 {
		h.problem(errors.New("no agent is named: publisher hook TOOL"))
		return
	}
	var err error
	if h.tool, err = agents.Named(args[0]); err != nil {
		h.tool = nil
		h.problem(err)
	}
	if len(args) > 1 {
		h.event = args[1]
	}
	if len(args) > 2 {
		h.problem(fmt.Errorf("%d arguments too many: publisher hook TOOL [EVENT]", len(args)-2))
	}
}

// CallPairs returns what pairs calls that have no id, for all processes that
// share a data directory.
func CallPairs(dataDir string) agents.Pairs { return agents.Dir(filepath.Join(dataDir, "hook-calls")) }

// defaultTenant is whose events are that name no tenant.
const defaultTenant = "default"

// tenantOr returns the tenant of events: one has to be named.
func (h *hook) tenantOr() string { return cmp.Or(h.tenant, defaultTenant) }

// run reads the payload, has it decided on, records it and returns the answer.
func (h *hook) run(ctx context.Context) agents.Reply {
	payload, err := readPayload(h.stdin)
	if err != nil {
		h.problem(err)
	}
	if h.tool == nil {
		if err := h.record(ctx, h.told("", payload)); err != nil {
			h.problem(err)
		}
		return agents.Reply{}
	}
	p, unread := h.parse(payload)
	closed := h.FailClosed && (p.Decides || unread != nil) // what cannot be read may be a call
	if closed {
		h.stand(runOf(p.Events), h.tool.FailClosed(p, closedReason(errLate)))
	} else {
		h.stand(runOf(p.Events), agents.Reply{})
	}
	reply, list := h.decided(ctx, p)
	if !closed {
		h.stand(runOf(list), reply) // else it has to be recorded first
	}
	if len(h.problems) > 0 {
		list = append(list, h.told(runOf(list), nil)...)
	}
	if err = h.record(ctx, list); err != nil {
		h.problem(err)
	}
	if err = cmp.Or(unread, err); closed && err != nil {
		return h.tool.FailClosed(p, closedReason(err))
	}
	return reply
}

// decided has p decided on, and returns the answer and what to record.
func (h *hook) decided(ctx context.Context, p agents.Payload) (agents.Reply, []events.Event) {
	out, refused := h.decision(ctx, p)
	switch {
	case refused:
		return h.tool.FailClosed(p, out.Reason), p.Decided(*out)
	case out == nil:
		return h.tool.Reply(p, hooks.DocumentOutcome{Point: p.Document.Point, Verdict: hooks.None}), p.Events
	}
	return h.tool.Reply(p, *out), p.Decided(*out)
}

// parse reads a payload, whatever it is. The error tells why it cannot be read.
func (h *hook) parse(payload []byte) (agents.Payload, error) {
	c := agents.Context{Tenant: h.tenantOr(), Now: time.Now().UTC(), Event: h.event, Pairs: CallPairs(h.dataDir)}
	p, err := h.tool.Parse(payload, c)
	if err != nil {
		h.problem(err)
		return h.tool.Unreadable(payload, c), err
	}
	return p, nil
}

// decision returns what was decided, nil if nobody said anything. It is refused
// where somebody should have, and that is to deny.
func (h *hook) decision(ctx context.Context, p agents.Payload) (out *hooks.DocumentOutcome, refused bool) {
	out, err := h.decide(ctx, p)
	if err == nil {
		err = h.wrong
	} else if !errors.Is(err, errNobody) {
		h.problem(err)
	}
	if err == nil || !h.FailClosed || !p.Decides {
		return out, false
	}
	return &hooks.DocumentOutcome{Point: p.Document.Point, Verdict: hooks.Deny, Reason: closedReason(err)}, true
}

// closedReason is what an agent reads that is stopped because of err.
func closedReason(err error) string {
	return "Blocked by Hooktrail, which fails closed: " + err.Error()
}

// problemRun is the run of what belongs to none.
const problemRun = "publisher-hook"

// told returns the event that says what is wrong with this command. raw is a
// payload that no agent could be found for.
func (h *hook) told(run string, raw []byte) []events.Event {
	if run == "" {
		run = problemRun
	}
	data := struct {
		events.CustomData
		Problems []string `json:"problems"`
		Bytes    int      `json:"bytes,omitempty"`
	}{CustomData: events.CustomData{Name: "hook.problem"}, Problems: h.problems, Bytes: len(raw)}
	if events.IsData(raw) {
		data.Raw = raw
	}
	e, err := events.New(events.Custom, "/publisher/hook", data)
	if err != nil {
		return nil // not reached: it can be encoded
	}
	e.Tenant, e.Run = h.tenantOr(), run
	return []events.Event{e}
}

// runOf returns the run of the first event.
func runOf(list []events.Event) string {
	if len(list) == 0 {
		return ""
	}
	return list[0].Run
}

// readPayload reads stdin to its end. It returns what there was, also with an
// error.
func readPayload(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxPayload+1))
	if err != nil {
		return data, fmt.Errorf("read payload: %w", err)
	}
	if len(data) <= MaxPayload {
		return data, nil
	}
	rest, err := io.Copy(io.Discard, r)
	return data, errors.Join(fmt.Errorf("payload has %d bytes, more than %d", int64(len(data))+rest, MaxPayload), err)
}
