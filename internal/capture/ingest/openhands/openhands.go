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

// Source is the CloudEvents source of the events, and the name of the agent in them.
const Source = "openhands"

// Events yields the events of the documents in r. Unexpected items become custom events.
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

func (t *transcript) entry(l ingest.Line) {
	if text := bytes.TrimSpace(l.Text); json.Valid(text) {
		t.item(bytes.Clone(text), l.Number)
	} else {
		var value json.RawMessage
		t.NotJSON(l, json.Unmarshal(text, &value), false)
	}
}

const history = "history"

// Detect reports whether an input that begins with head comes from OpenHands.
func Detect(head []byte, _ string) bool {
	if first, list := ingest.FirstElement(head); list {
		return isEntry(ingest.Members(first))
	}
	members := ingest.Members(ingest.Opening(head))
	return isEntry(members) || ingest.Has(members, "instance_id", "instruction") || ingest.Has(members, "issue", "instruction")
}

func isEntry(members map[string]json.RawMessage) bool {
	return isEvent(members) || ingest.Has(members, "source", "timestamp", "action") ||
		ingest.Has(members, "source", "timestamp", "observation")
}

type transcript struct {
	*ingest.Emitter
	opts     ingest.Options
	runNames ingest.UniqueNames

	document
	pending     []*item // items read before the id of the run is known
	pendingSize int
	runs        []*run // the run of the document and the runs of open delegates; empty before begin
	version     string
	last        time.Time // of the latest item with a time
	seen        map[string]bool
	total       *events.Tokens // total tokens of the run, set by an item before an answer
	spent       events.Tokens  // latest known total tokens of the run
	items       int
	latest      string // origin of the previous item: "", user, agent or observation
	finished    *finish
}

type finish struct {
	text, completed string
	rejected        bool
}

func (t *transcript) reset() {
	*t = transcript{Emitter: t.Emitter, opts: t.opts, runNames: t.runNames, seen: map[string]bool{}}
}

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
		t.pending = append(t.pending, i)
		t.pendingSize += len(raw)
		if i.kind != "" || i.Source != "user" && i.isCall() || i.Source == "agent" && i.Action == "message" || t.pendingSize > maxHead {
			t.begin()
		}
		return
	}
	t.translate(i)
}

const maxHead = 1 << 20

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

func (t *transcript) present() time.Time {
	if t.last.IsZero() {
		t.last = t.Now()
	}
	return t.last
}

func (t *transcript) begin() {
	var first json.RawMessage
	at := t.present()
	if len(t.pending) > 0 {
		first, at = t.pending[len(t.pending)-1].raw, t.pending[0].time
	}
	for _, i := range t.pending {
		if i.Action == "system" && t.version == "" {
			t.version = i.text("openhands_version")
		}
	}
	id := t.runNames.Unique(t.runID(t.opts.File, first))
	r := t.Run(
		ingest.Identity{Run: id, Session: id, Agent: Source}, ingest.Origin{ID: "run", Time: at}, t.started(t.version),
	)
	r.PerAnswer = true
	t.runs = []*run{{Run: r}}
	pending := t.pending
	t.pending = nil
	for _, i := range pending {
		t.translate(i)
	}
}

func (t *transcript) end() {
	if t.items == 0 && t.before.Empty() {
		return // a list without items
	}
	if t.opts.Open {
		return // later input names the run
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

func (t *transcript) concluded(data *events.RunFinishedData) {
	f := t.finished
	if f == nil {
		if !t.before.Empty() {
			data.Reason = "not finished"
		}
		return
	}
	data.SetStatus(events.RunCompleted)
	data.Reason, data.OutputSummary = "finished", ingest.Clip(f.text, ingest.MaxOutput)
	switch {
	case f.rejected:
		data.SetStatus(events.RunFailed)
		data.Reason = "rejected"
	case f.completed == "false":
		data.SetStatus(events.RunFailed)
		data.Reason = "not completed"
	case f.completed == "partial":
		data.Metadata = map[string]any{"partial_success": true}
	}
}

func (t *transcript) top() *run { return t.runs[len(t.runs)-1] }
