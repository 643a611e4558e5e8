package verifier

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type recording struct {
	sum    events.Hash // zero if the event is unreadable
	pruned bool        // only run and kind remain
	run    string
	kind   events.Kind
	user   string // an import of a log names none
}

func (r recording) matches(other recording) bool {
	if r.pruned || other.pruned {
		return r.run == other.run && r.kind == other.kind && isDispatched(r.kind)
	}
	return r.sum != events.Hash{} && r.sum == other.sum && (r.user == other.user || r.user == "" || other.user == "")
}

func isDispatched(k events.Kind) bool {
	return k != "" && k != events.Custom && k != events.HookExecuted
}

func recordingOf(l ledger.Leaf, data []byte, removal ledger.Removal) recording {
	r := recording{run: l.Run, kind: l.Kind, pruned: removal.Word == ledger.Pruned}
	if removal.Done() || !isDispatched(r.kind) {
		return r
	}
	e, err := events.Decode(data)
	if err != nil {
		return r
	}
	r.user = e.User
	if text, ok := commonOf(e); ok {
		r.sum = events.HashOf(text)
	}
	return r
}

func commonOf(e events.Event) (text []byte, ok bool) {
	if len(e.Data) == 0 || e.Data[0] != '{' {
		return nil, false
	}
	var verdict, stricter events.Verdict
	seen, unstated := make(map[string]bool), e.Unstated()
	for name, value := range events.Members(e.Data) {
		if !isUnambiguous(name, seen) {
			return nil, false
		}
		ok := true
		switch name {
		case "executions":
			stricter, ok = strictestOf(value)
		case "verdict":
			verdict, ok = verdictOf(value)
		}
		if !ok {
			return nil, false
		}
		if !unstated[name] && !isOfHooks(name, verdict) {
			text = append(strconv.AppendQuote(text, name), ':')
			text = append(append(text, events.SameEscapes(value)...), ' ')
		}
	}
	if strictness(stricter) <= strictness(verdict) {
		stricter = ""
	}
	return fmt.Appendf(text, "\n%q %q %q %q", e.Type, e.Run, e.ToolCall, stricter), true
}

func isOfHooks(name string, verdict events.Verdict) bool {
	return name == "executions" || name == "verdict" && verdict == events.VerdictNone
}

// isUnambiguous returns false for a repeated member "verdict" and for names such as "Verdict",
// because JSON libraries could read them differently.
func isUnambiguous(name string, seen map[string]bool) bool {
	for _, known := range [...]string{"executions", "verdict"} {
		if strings.EqualFold(name, known) && (name != known || seen[known]) {
			return false
		}
		if name == known {
			seen[known] = true
		}
	}
	return true
}

func verdictOf(value json.RawMessage) (v events.Verdict, ok bool) {
	text, ok := events.TextOf(value)
	return events.Verdict(text), ok || string(value) == "null"
}

func strictestOf(value json.RawMessage) (strictest events.Verdict, ok bool) {
	if value[0] != '[' && string(value) != "null" {
		return "", false
	}
	for x := range events.Elements(value) {
		if x[0] != '{' {
			return "", false
		}
		for name, value := range events.Members(x) {
			if !strings.EqualFold(name, "verdict") {
				continue
			}
			if v, _ := verdictOf(value); strictness(v) > strictness(strictest) {
				strictest = v
			}
		}
	}
	return strictest, true
}

func strictness(v events.Verdict) int {
	return slices.Index([]events.Verdict{events.VerdictAsk, events.VerdictDeny}, v) + 1
}

type twin struct {
	FindingAt
	recording
}

const maxTwins = 1 << 17

const maxFirsts = 1 << 12

func (c *contradictions) twin(at FindingAt, r recording) bool {
	if c.conn == nil {
		if len(c.twins) == maxTwins {
			return false
		}
		c.twins = append(c.twins, twin{at, r})
		return true
	}
	first, err := sqlitetx.Ints(c.conn, "SELECT leaf FROM leaves WHERE id = ? AND class = 'event'", at.ID)
	if err == nil && len(first) > 0 {
		var a recording
		if a, err = c.firstRecording(first[0]); err == nil {
			r, err = storedRecording(c.conn, at.Leaf)
		}
		if err == nil && a.matches(r) {
			c.addTwice(at)
			return true
		}
	}
	c.err = errors.Join(c.err, err)
	return false
}

func (c *contradictions) firstRecording(leaf int64) (recording, error) {
	if r, ok := c.firsts[leaf]; ok {
		return r, nil
	}
	r, err := storedRecording(c.conn, leaf)
	if len(c.firsts) >= maxFirsts || c.firsts == nil {
		c.firsts = make(map[int64]recording)
	}
	c.firsts[leaf] = r
	return r, err
}

func (c *contradictions) addTwice(at FindingAt) {
	at.RecordedTwice = true
	if c.twiceCount++; len(c.twice) < maxFindings {
		c.twice = append(c.twice, at)
	}
}

func storedRecording(conn *sqlite.Conn, leaf int64) (r recording, err error) {
	err = ledger.EachTarget(conn, ledger.LeafRange{First: leaf, Last: leaf}, func(t ledger.Target) error {
		l := ledger.Leaf{Run: t.Run, Kind: events.Kind(t.Kind)}
		if t.Removal.Done() {
			r = recordingOf(l, nil, t.Removal)
			return nil
		}
		data, err := ledger.ReadPayload(conn, leaf)
		if errors.Is(err, ledger.ErrNoPayload) {
			return nil
		}
		r = recordingOf(l, data, t.Removal)
		return err
	})
	return r, err
}

// CompareFirst compares events with the same id. records must yield all records of the export. Call
// it before [ExportChecker.Conclude] and [ExportChecker.Findings].
func (c *ExportChecker) CompareFirst(records iter.Seq2[ExportedRecord, error]) error {
	contrary := &c.facts.contrary
	ids := make(map[string][]int)
	for i, t := range contrary.twins {
		ids[t.ID] = append(ids[t.ID], i)
	}
	if len(ids) == 0 {
		return nil
	}
	same := make([]bool, len(contrary.twins))
	for k, err := range records {
		if err != nil {
			return err
		}
		if list := ids[k.Leaf.ID]; len(list) > 0 && k.Leaf.Class == ledger.ClassEvent {
			first := recordingOf(k.Leaf, k.Bytes, k.Removal)
			for _, i := range list {
				same[i] = first.matches(contrary.twins[i].recording)
			}
		}
	}
	for i, t := range contrary.twins {
		if same[i] {
			contrary.addTwice(t.FindingAt)
		} else {
			contrary.add(t.FindingAt, 0)
		}
	}
	contrary.twins = nil
	return nil
}
