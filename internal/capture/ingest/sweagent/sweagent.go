package sweagent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Source is the source of the events of SWE-agent and mini-swe-agent, and the
// name of their agent.
const Source = "swe-agent"

// Events yields the events of the trajectory in r. What cannot be read is yielded
// as a [*ingest.LineError]; a step or a message that is not of the expected shape
// is kept as a custom event all the same.
func Events(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		t := &transcript{Emitter: ingest.NewEmitter(Source, opts, yield), opts: opts}
		t.reset()
		t.Documents(ctx, r, t.read, trajectory, messages, history, attempts)
	}
}

// The lists of a file.
const (
	trajectory = "trajectory"
	messages   = "messages"
	history    = "history"
	attempts   = "attempts"
)

// transcript is the state of one input.
type transcript struct {
	*ingest.Emitter
	opts     ingest.Options
	runNames ingest.UniqueNames // of the runs of the input

	info    info
	before  ingest.Object // members in front of the steps
	after   ingest.Object // and behind them
	run     *run          // nil before it has its name
	pending []*message    // before the model answers, which names the run
	items   int           // messages so far
	steps   int           // of the trajectory, so far
	tried   int           // attempts so far

	prompted bool      // the task is told
	past     hash.Hash // of the history that repeats the steps
	repeats  int       // and how many messages it has
	time     time.Time // of the latest message that has one
}

func (t *transcript) reset() {
	t.info, t.before, t.after, t.run = info{}, ingest.Object{}, ingest.Object{}, nil
	t.pending, t.items, t.steps, t.tried = nil, 0, 0, 0
	t.prompted, t.past, t.repeats, t.time = false, sha256.New(), 0, time.Time{}
}

// read takes in one part of the file.
func (t *transcript) read(p ingest.Fragment) {
	switch {
	case p.End:
		t.end()
		t.reset()
	case p.Element < 0:
		t.member(p.Member, p.Text)
	case p.Member == trajectory:
		t.trajectory(p)
	case p.Member == attempts:
		t.attempt(p)
	case p.Member == history && t.steps+t.tried > 0:
		t.historical(p)
	default:
		t.message(p)
	}
}

// member takes in what is no list of steps.
func (t *transcript) member(name string, value json.RawMessage) {
	if t.run == nil {
		t.before.Add(name, value)
	} else {
		t.after.Add(name, value)
	}
	if name == "replay_config" {
		t.info.replay(value)
	}
	if name == "info" && json.Unmarshal(value, &t.info) != nil {
		t.Fault("info: not what was expected of it", true)
	}
}

// run is what is remembered of a run beside what the kit counts.
type run struct {
	*ingest.Run
	answers   int           // of the model
	start     time.Time     // of what has no time of its own
	elapsed   time.Duration // what the commands took
	waiting   []string      // calls without a result, oldest first
	submitted bool          // the latest call was one that submits
	answer    string        // what the latest result was
}

// now returns the time of what has no time of its own.
func (r *run) now() time.Time { return r.start.Add(r.elapsed) }

// turn opens the step of an answer of the model. The first one belongs to the
// step that the task began.
func (r *run) turn(p ingest.Origin) {
	if r.Step() == nil || r.answers > 0 {
		r.Open(p, "")
	} else {
		r.Within(p)
	}
	r.answers++
}

// begin starts the run, which the first answer names.
func (t *transcript) begin(first json.RawMessage, at time.Time) {
	name := strings.TrimSuffix(ingest.SessionOf(t.opts.File), ".traj")
	id := t.runNames.Unique(name + "-" + ingest.Hash(first))
	started := events.RunStartedData{
		Title: name, Model: t.info.Config.Model.Name, Cwd: t.info.Config.Environment.Cwd, Version: t.info.version(),
		Common: events.Common{Raw: t.before.JSON()},
	}
	t.run = &run{start: at, Run: t.Run(ingest.Identity{Run: id, Session: id, Agent: Source}, ingest.Origin{ID: "run", Time: at}, started)}
}

// end ends the run.
func (t *transcript) end() {
	switch {
	case t.opts.Open:
		return // a run that has no name yet gets it from what follows
	case t.run != nil:
	case len(t.pending) == 0 && t.before.Empty():
		return // a list without messages
	default:
		t.release(nil)
	}
	r := t.run
	r.CloseStep()
	if t.repeats > 0 {
		r.Emit(ingest.Origin{ID: "history", Time: r.now()}, events.Custom, "", events.CustomData{
			Name: "history", Data: ingest.JSON(map[string]any{"messages": t.repeats, "sha256": hex.EncodeToString(t.past.Sum(nil))}),
		})
	}
	data := r.Finished()
	t.info.end(&data, r)
	data.Raw = t.after.JSON()
	r.Finish(&data)
}
