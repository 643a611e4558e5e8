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
	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
	"github.com/hooktrail/hooktrail/internal/platform/hookid"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/publish/outbox"
)

const (
	// DefaultTimeout is how long an agent waits for a decision by default.
	DefaultTimeout = hooksocket.DefaultTimeout
	// MaxPayload is the size limit of a hook payload in bytes.
	MaxPayload = hooksocket.MaxPayload
)

// Options configure [Answer].
type Options struct {
	DataDir string
	Tenant  string       // if empty, the tenant of the token, or "default"
	Tool    *agents.Tool // nil if the command line does not name a tool
	Event   string       // name of the hook event, for payloads without one

	Hooks      string // path of a hooks file, empty for no local hooks
	Timeout    time.Duration
	Unanswered bool            // the publisher has had its time, so it is not asked again
	FailClosed bool            // deny a call that cannot be decided or recorded
	Publisher  string          // URL of a publisher, empty for the socket in DataDir, see [CheckURL]
	AskOwn     bool            // a denial by the publisher of DataDir counts too
	Token      string          // bearer token for Publisher
	Redactor   outbox.Redactor // nil for all rules of pkg/redact
	Parts      Parts           // without them, hooks files and http URLs do not work

	Problems []string // problems of the command line, to be recorded
	Invalid  error    // error in the command line; denies the call if FailClosed is set
}

// Result is the outcome of one call of the hook command.
type Result struct {
	Reply    agents.Reply
	Problems []string // for stderr, without text of the payload

	deadline time.Time
	hooks    *hooks.Registry // local hooks, which may still run
}

// Close waits for local hooks that still run in the background, until the time limit of the hook
// call at the latest.
func (r Result) Close(ctx context.Context) {
	if r.hooks == nil {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, r.deadline)
	defer cancel()
	_ = r.hooks.Close(ctx)
}

// CallIDs returns an [agents.CallIDs] that assigns the same ids in all processes of a data
// directory.
func CallIDs(dataDir string) agents.CallIDs {
	return agents.SharedCallIDs(filepath.Join(dataDir, "hook-calls"))
}

// Only one goroutine uses a call. The field fallback is an exception.
type call struct {
	Options

	publisher *publisherClient
	recorder  *recorder
	fallback  atomic.Pointer[fallback] // the answer if time runs out now
	problems  []string
	hooks     *hooks.Registry
	idKey     []byte
	remote    error // the error of asking a publisher at a socket
	undecided bool  // hooks should have decided, and none answered
}

func newCall(opts Options) *call {
	p := &publisherClient{url: opts.Publisher, token: opts.Token, dataDir: opts.DataDir, parts: opts.Parts, unanswered: opts.Unanswered}
	r := &recorder{publisher: p, dataDir: opts.DataDir, tenant: opts.Tenant, redactor: opts.Redactor}
	c := &call{Options: opts, publisher: p, recorder: r, problems: opts.Problems}
	if isSocket(opts.Publisher) && opts.Hooks != "" {
		c.note(errOwnHooks)
		c.Hooks, c.Invalid = "", errors.Join(c.Invalid, errOwnHooks)
	}
	return c
}

func (c *call) note(err error) {
	if err != nil {
		c.problems = append(c.problems, err.Error())
	}
}

func (c *call) run(ctx context.Context, stdin io.Reader) agents.Reply {
	raw, err := readPayload(stdin)
	c.note(err)
	if c.Tool == nil {
		c.note(c.record(ctx, c.problemEvent(events.Event{}, raw)))
		return agents.Reply{}
	}
	p, unreadable := c.parse(raw)
	strict := c.FailClosed && (p.Decides || unreadable != nil) // an unreadable payload may be a call
	strict = strict || agents.IsCanary(p.Document)             // its denial proves that it is recorded
	if strict {
		c.setFallback(p.Events, c.Tool.FailClosed(p, closedReason(errLate)), false)
	} else {
		c.setFallback(p.Events, agents.Reply{}, canDeny(p))
	}
	reply, list, done := c.judge(ctx, raw, p, strict, unreadable)
	if done {
		return reply
	}
	if !strict { // a call that fails closed must be recorded before the reply
		c.setFallback(list, reply, c.undecided)
	}
	if len(c.problems) > 0 {
		list = append(list, c.problemEvent(callOf(list), nil)...)
	}
	err = c.record(ctx, list)
	c.note(err)
	if err = cmp.Or(unreadable, err); strict && err != nil {
		return c.Tool.FailClosed(p, closedReason(err))
	}
	return reply
}

// judge returns the reply and the events to record. The last result is true if a publisher has
// already recorded the events.
func (c *call) judge(ctx context.Context, raw []byte, p agents.Payload, strict bool, unreadable error) (agents.Reply, []events.Event, bool) {
	if reply, list, denied := c.askOwn(ctx, p); denied {
		return reply, list, false
	}
	if isSocket(c.Publisher) {
		if reply, ok := c.runRemote(ctx, raw, p, strict, unreadable); ok {
			return reply, nil, true
		}
	}
	reply, list := c.decide(ctx, p)
	return reply, list, false
}

func (c *call) parse(raw []byte) (agents.Payload, error) {
	key, err := hookid.Key(c.DataDir)
	if c.Publisher == "" { // the data directory matters only without a publisher URL
		c.note(err)
	}
	c.idKey = key
	opts := agents.Context{
		Tenant: orDefault(c.Tenant), Now: time.Now().UTC(), Event: c.Event, CallIDs: CallIDs(c.DataDir), IDKey: key,
	}
	p, err := c.Tool.Parse(raw, opts)
	if err != nil {
		c.note(err)
		return c.Tool.Unreadable(raw, opts), err
	}
	return p, nil
}

func (c *call) record(ctx context.Context, list []events.Event) error {
	warnings, err := c.recorder.record(ctx, list)
	for _, warning := range warnings {
		c.note(warning)
	}
	return err
}

func orDefault(tenant string) string { return cmp.Or(tenant, "default") }

func closedReason(err error) string {
	return "Blocked by Hooktrail, which fails closed: " + err.Error()
}

func (c *call) problemEvent(about events.Event, raw []byte) []events.Event {
	return problemEvent(c.Tenant, about, c.undecided, c.problems, raw)
}

func problemEvent(tenant string, about events.Event, undecided bool, problems []string, raw []byte) []events.Event {
	data := struct {
		events.CustomData
		Problems  []string `json:"problems"`
		Undecided bool     `json:"undecided,omitempty"`
		Bytes     int      `json:"bytes,omitempty"`
	}{CustomData: events.CustomData{Name: events.HookProblem}, Problems: problems, Undecided: undecided, Bytes: len(raw)}
	if events.IsData(raw) {
		data.Raw = raw
	}
	e, err := events.New(events.Custom, "/publisher/hook", data)
	if err != nil {
		return nil // unreachable: the data can always be encoded
	}
	e.Tenant, e.Run, e.Step, e.ToolCall = orDefault(tenant), about.Run, about.Step, about.ToolCall
	return []events.Event{e}
}

func callOf(list []events.Event) (first events.Event) {
	for _, e := range list {
		if e.ToolCall != "" {
			return e
		}
	}
	if len(list) > 0 {
		first = list[0]
	}
	return first
}

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
