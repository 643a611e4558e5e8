package openhands

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Source is the source of the events of OpenHands, and the name of its agent.
const Source = "openhands"

// Events yields the events of the documents in r. What cannot be read is yielded
// as a [*ingest.LineError]; an item that is not of the expected shape is kept as
// a custom event all the same.
func Events(ctx context.Context, r io.Reader, opts ingest.Options) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		t := &transcript{Emitter: ingest.NewEmitter(Source, opts, yield), opts: opts}
		t.reset()
		in := bufio.NewReaderSize(r, ingest.HeadBytes)
		head, err := in.Peek(ingest.HeadBytes)
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			t.Report(fmt.Errorf("read %s: %w", opts.File, err))
		case !isEntry(ingest.Members(ingest.Opening(head))):
			t.Documents(ctx, in, t.read, history)
		case t.Lines(ctx, in, t.entry):
			t.end()
		}
	}
}

// entry takes in a line that is an entry of the history.
func (t *transcript) entry(l ingest.Line) {
	if text := bytes.TrimSpace(l.Text); json.Valid(text) {
		t.item(bytes.Clone(text), l.Number)
	} else {
		var value json.RawMessage
		t.NotJSON(l, json.Unmarshal(text, &value), false)
	}
}

const history = "history"

// Detect reports whether an input that begins with head is one of OpenHands.
func Detect(head []byte, _ string) bool {
	if first, list := ingest.FirstElement(head); list {
		return isEntry(ingest.Members(first))
	}
	members := ingest.Members(ingest.Opening(head))
	if isEntry(members) {
		return true
	}
	_, instance := members["instance_id"]
	_, issue := members["issue"]
	_, instruction := members["instruction"]
	return (instance || issue) && instruction
}

// isEntry reports whether the members of an object are those of an entry of a
// history.
func isEntry(members map[string]json.RawMessage) bool {
	if isEvent(members) {
		return true
	}
	_, source := members["source"]
	_, action := members["action"]
	_, observation := members["observation"]
	_, time := members["timestamp"]
	return source && time && (action || observation)
}

// transcript is the state of one input.
type transcript struct {
	*ingest.Emitter
	opts  ingest.Options
	named ingest.UniqueNames // of the runs of the input

	document
	held     []*item // before the agent does something, which names the run; since version 1 the first item does
	heldSize int
	runs     []*run // the document's and those of the delegates at work; none before the run is named
	version  string
	last     time.Time       // of the latest item that has one
	seen     map[string]bool // ids of items
	total    *events.Tokens  // told for the next answer
	spent    events.Tokens   // up to the latest item that tells
	items    int             // of the history, so far
	latest   string          // what the item before was: "", user, agent or observation
	finished *finish         // what the agent said at its end
}

// finish is how the agent said that it is done.
type finish struct {
	text, completed string
	rejected        bool
}

func (t *transcript) reset() {
	t.document, t.held, t.heldSize, t.runs, t.version = document{}, nil, 0, nil, ""
	t.last, t.seen, t.spent, t.items = time.Time{}, map[string]bool{}, events.Tokens{}, 0
	t.latest, t.finished, t.total = "", nil, nil
}

// read takes in one part of a document.
func (t *transcript) read(p ingest.Fragment) {
	switch {
	case p.End:
		t.end()
		t.reset()
	case p.Element < 0 && p.Member != "":
		if !t.add(p.Member, p.Text, t.items > 0) {
			t.Fault(p.Member+": not what was expected of it", true)
		}
	default:
		t.item(p.Text, p.Line)
	}
}

// item takes in one entry of the history. Very old files have pairs there.
func (t *transcript) item(raw json.RawMessage, line int) {
	var pair []json.RawMessage
	if raw[0] == '[' && json.Unmarshal(raw, &pair) == nil && len(pair) <= 2 {
		for _, one := range pair {
			t.one(one, line)
		}
		return
	}
	t.one(raw, line)
}

func (t *transcript) one(raw json.RawMessage, line int) {
	if raw[0] != '{' {
		t.Fault("not a JSON object", false)
		return
	}
	i, err := parse(raw, line)
	if err != nil {
		t.WrongShape(err, true)
		i.Action, i.Observation = "", ""
	}
	t.name(i)
	if t.runs == nil {
		t.held = append(t.held, i)
		t.heldSize += len(raw)
		if i.kind != "" || i.Source != "user" && i.isCall() || i.Source == "agent" && i.Action == "message" || t.heldSize > maxHead {
			t.begin()
		}
		return
	}
	t.translate(i)
}

// maxHead bounds what is held back until the run has its name.
const maxHead = 1 << 20

// name gives the item its id and its time.
func (t *transcript) name(i *item) {
	i.id = "item-" + strconv.Itoa(t.items)
	if id := idOf(i.Number); id != "" && !t.seen[id] && !strings.HasPrefix(id, "item-") && ingest.Usable(id) {
		i.id = id
		t.seen[id] = true
	}
	t.items++
	if at, ok := i.when(); ok {
		t.last = at
	} else if i.Timestamp != "" {
		t.Fault(ingest.BadTime, true)
	}
	i.time = t.present()
}

// present returns the time of the latest item, or that of the file.
func (t *transcript) present() time.Time {
	if t.last.IsZero() {
		t.last = t.Now()
	}
	return t.last
}

// begin starts the run, which the latest item that is held names.
func (t *transcript) begin() {
	var first json.RawMessage
	at := t.present()
	if len(t.held) > 0 {
		first, at = t.held[len(t.held)-1].raw, t.held[0].time
	}
	for _, i := range t.held {
		if i.Action == "system" && t.version == "" {
			t.version = i.text("openhands_version")
		}
	}
	id := t.named.Unique(t.runID(t.opts.File, first))
	t.runs = []*run{{Run: t.Run(
		ingest.Identity{Run: id, Session: id, Agent: Source}, ingest.Origin{ID: "run", Time: at}, t.started(t.version),
	)}}
	held := t.held
	t.held = nil
	for _, i := range held {
		t.translate(i)
	}
}

// end ends the runs of the document.
func (t *transcript) end() {
	if t.items == 0 && t.before.Empty() {
		return // a list without items
	}
	if t.opts.Open {
		return // a run that has no name yet gets it from what follows
	}
	if t.runs == nil {
		t.begin()
	}
	for len(t.runs) > 1 {
		t.top().Finish(nil)
		t.runs = t.runs[:len(t.runs)-1]
	}
	r := t.runs[0]
	r.CloseStep()
	data := r.Finished()
	t.concluded(&data)
	t.document.end(&data)
	r.Finish(&data)
}

// concluded tells data what the agent said at its end. One that was to do a task
// and never said that it is done did not succeed; a conversation may end anyhow.
func (t *transcript) concluded(data *events.RunFinishedData) {
	f := t.finished
	switch {
	case f == nil && !t.before.Empty():
		data.Success, data.Reason = false, "not finished"
	case f == nil:
	default:
		data.Reason, data.OutputSummary = "finished", ingest.Clip(f.text, ingest.MaxOutput)
		switch {
		case f.rejected:
			data.Success, data.Reason = false, "rejected"
		case f.completed == "false":
			data.Success, data.Reason = false, "not completed"
		case f.completed == "partial":
			data.Metadata = map[string]any{"partial_success": true}
		}
	}
}

// top returns the run that items belong to: that of the innermost delegate.
func (t *transcript) top() *run { return t.runs[len(t.runs)-1] }
