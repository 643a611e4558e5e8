package gauntlet

import (
	"encoding/json"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// recordingAttacks use the exception for hook payloads that are recorded twice.
func recordingAttacks() []streamAttack {
	return []streamAttack{
		{
			attack:  attack{name: "RecordedTwice", what: "a hook payload recorded by two hooks, with other durations", has: "nothing", alone: "VERIFIED, COMPLETE (0)", seen: "that it was recorded twice"},
			publish: func(s *streamTrial) { s.recorded(pick(s.random, sameRecordings)) },
			missed: func(_ *streamTrial, r verifier.Report) string {
				if r.RecordedTwice != 1 || r.SetApart != 1 {
					return "it is not named"
				}
				return ""
			},
		},
		{
			attack: attack{
				name: "HiddenDenial", what: "the id of a denial taken before with a milder decision or other arguments, as if its hook payload was recorded twice",
				has: "a producer", alone: "VERIFIED, COMPLETE (12)", seen: "a finding with both leaves",
			},
			publish: func(s *streamTrial) { s.recorded(pick(s.random, otherRecordings)) },
			missed: func(_ *streamTrial, r verifier.Report) string {
				if r.RecordedTwice > 0 || len(r.Findings) != 1 || r.Findings[0].First == nil {
					return "the denial is hidden"
				}
				return wantFinding(r, r.Findings[0].Producer, ledger.FindingIDReused)
			},
		},
	}
}

const (
	recordedCall = `"tool":"Bash","args":{"command":"rm -rf /"}`
	saidNothing  = `"executions":[{"hook":"h1","success":true,"duration_ms":14.8,"verdict":"none"}]`
	saidNo       = `"executions":[{"hook":"h2","success":true,"duration_ms":0.2,"verdict":"deny"}]`
	denial       = recordedCall + `,"verdict":"deny","reason":"policy",` + saidNo
)

var sameRecordings = [][2]string{
	{recordedCall + `,` + saidNothing, recordedCall + `,"verdict":"none",` + saidNothing},
	{recordedCall, recordedCall + `,"verdict":"none",` + saidNothing},
	{denial, recordedCall + `,"verdict":"deny","reason":"policy"`},
}

var otherRecordings = [][2]string{
	{recordedCall, denial},
	{recordedCall + `,` + saidNothing, denial},
	{recordedCall + `,"verdict":"allow"`, denial},
	{recordedCall + `,"verdict":"none",` + saidNothing, recordedCall + `,"verdict":"none",` + saidNo},
	{`"tool":"Bash","args":{"command":"ls"},"verdict":"deny","reason":"policy"`, denial},
	{recordedCall + `,"verdict":"deny","reason":"another"`, denial},
	{recordedCall + `,"verdict":"deny","Verdict":"allow","reason":"policy"`, denial},
	{recordedCall + `,"verdict":"deny","reason":"policy","executions":[],"executions":[]`, denial},
}

// recorded sends two payloads of a call under one id, by two producers.
func (s *streamTrial) recorded(payloads [2]string) {
	s.Helper()
	id := events.NewID()
	of := func(e *events.Event) { e.ID, e.ToolCall = id, "call" }
	send(s, s.mallory, s.tenant, "recorded", events.ToolBefore, json.RawMessage(`{`+payloads[0]+`}`), of)
	flush(s, s.mallory)
	send(s, s.honest, s.tenant, "recorded", events.ToolBefore, json.RawMessage(`{`+payloads[1]+`}`), of)
	send(s, s.honest, s.tenant, "recorded", events.RunFinished, events.RunFinishedData{Success: true})
}
