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

// Source is the source of the events and the name of the agent.
const Source = "swe-agent"

// Events yields the events of the trajectory in r. Unreadable input is reported
// as a [*ingest.LineError]. A step or a message with an unexpected shape becomes
// a custom event.
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

// transcript reads one input. It owns the runs and the messages that wait for the
// name of the run.
type transcript struct {
	*ingest.Emitter
	opts     ingest.Options
	runNames ingest.UniqueNames // unique names of the runs

	info    info
	before  ingest.Object // members before the steps
	after   ingest.Object // members after the steps
	run     *run          // nil while it has no name
	pending []*message    // messages before the first answer, which names the run
	items   int           // number of messages
	steps   int           // number of steps in the trajectory
	tried   int           // number of attempts

	prompted bool      // the task was emitted
	past     hash.Hash // hash of the history that repeats the steps
	repeats  int       // number of messages in that history
	time     time.Time // of the latest message with a time
}

func (t *transcript) reset() {
	t.info, t.before, t.after, t.run = info{}, ingest.Object{}, ingest.Object{}, nil
	t.pending, t.items, t.steps, t.tried = nil, 0, 0, 0
	t.prompted, t.past, t.repeats, t.time = false, sha256.New(), 0, time.Time{}
}

// read reads one fragment of the file.
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

// member reads a member that is not a list of steps.
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

// run extends an ingest.Run. It owns the calls that wait for a result and the
// clock of events without a time.
type run struct {
	*ingest.Run
	answers   int           // number of answers of the model
	start     time.Time     // the start of events without a time
	elapsed   time.Duration // the execution time of the commands so far
	waiting   []string      // calls without a result, oldest first
	submitted bool          // the latest call submitted the work
	answer    string        // the latest result of a submission
}

// now returns the time for an event without one.
func (r *run) now() time.Time { return r.start.Add(r.elapsed) }

// turn opens the step of an answer of the model. The first answer belongs to the
// step of the task.
func (r *run) turn(p ingest.Origin) {
	if r.Step() == nil || r.answers > 0 {
		r.Open(p, "")
	} else {
		r.Within(p)
	}
	r.answers++
}

// begin starts the run. The first answer names it.
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
		return // later input names the run
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
