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

// Source is the CloudEvents source of the events, and the name of the agent in them.
const Source = "swe-agent"

// Events yields the events of the trajectory in r. Unexpected steps and messages become custom
// events.
func Events(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		t := &transcript{Emitter: ingest.NewEmitter(Source, opts, yield), opts: opts}
		t.reset()
		t.Documents(ctx, r, t.read, trajectory, messages, history, attempts)
	}
}

const (
	trajectory = "trajectory"
	messages   = "messages"
	history    = "history"
	attempts   = "attempts"
)

type transcript struct {
	*ingest.Emitter
	opts     ingest.Options
	runNames ingest.UniqueNames

	info    info
	before  ingest.Object
	after   ingest.Object
	run     *run
	pending []*message // messages before the first answer, which determines the id of the run
	items   int
	steps   int
	tried   int

	prompted bool
	past     hash.Hash // hash of the history that repeats the steps
	repeats  int
	time     time.Time // of the latest message with a time
}

func (t *transcript) reset() {
	*t = transcript{Emitter: t.Emitter, opts: t.opts, runNames: t.runNames, past: sha256.New()}
}

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

type run struct {
	*ingest.Run
	answers   int
	start     time.Time // time of the first event; later events add elapsed
	elapsed   time.Duration
	waiting   []string // calls without a result, oldest first
	submitted bool     // the latest call submitted the work
	answer    string   // result of the latest call, if the call submitted the work
}

func (r *run) now() time.Time { return r.start.Add(r.elapsed) }

func (r *run) turn(p ingest.Origin) {
	if r.Step() == nil || r.answers > 0 {
		r.Open(p, "")
	} else {
		r.Within(p)
	}
	r.answers++
}

func (t *transcript) begin(first json.RawMessage, at time.Time) {
	name := strings.TrimSuffix(ingest.SessionOf(t.opts.File), ".traj")
	id := t.runNames.Unique(name + "-" + ingest.Hash(first))
	started := events.RunStartedData{
		Title: name, Model: t.info.Config.Model.Name, Cwd: t.info.Config.Environment.Cwd, Version: t.info.version(),
		Common: events.Common{Raw: t.before.JSON()},
	}
	t.run = &run{start: at, Run: t.Run(ingest.Identity{Run: id, Session: id, Agent: Source}, ingest.Origin{ID: "run", Time: at}, started)}
	t.run.PerAnswer = true
}

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
