package agents

import "github.com/hooktrail/hooktrail/pkg/events"

type turn struct {
	b    *builder
	step string
}

const (
	turnEnded = "turn ended"
	turnLeft  = "turn left" // the session ended first
)

func (t turn) is(fact string) bool {
	return t.b.context.CallIDs != nil && t.step != "" && t.b.context.CallIDs.IsMarked(t.b.session(), Mark{fact, t.step})
}

func (t turn) note(fact string) {
	if t.b.context.CallIDs != nil && t.step != "" {
		t.b.context.CallIDs.Mark(t.b.session(), Mark{fact, t.step})
	}
}

func (t turn) begin() {
	if t.b.context.CallIDs != nil && t.step != "" && !t.is(turnEnded) {
		t.b.context.CallIDs.Began(t.b.session(), t.step)
		t.b.p.denied = func() { t.note(turnEnded) }
	}
}

func (t turn) end() {
	t.note(turnEnded)
	if t.is(turnLeft) {
		run := t.b.scope
		run.step = ""
		t.b.event(run, events.RunFinished, "", events.RunFinishedData{Success: true})
	}
}

func (b *builder) leftTurn() bool {
	if b.context.CallIDs == nil || !claudeLike[b.tool.name] {
		return false
	}
	t := turn{b, b.context.CallIDs.Step(b.session())}
	if t.step == "" || t.is(turnEnded) {
		return false
	}
	t.note(turnLeft)
	return true
}

// claudeLike lists the agents whose payloads contain the id of the turn. They also contain the id
// of the call, except in questions to a person.
var claudeLike = map[string]bool{"claude-code": true, "codex": true}
