package gauntlet

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func streamAttacks() []streamAttack {
	return slices.Concat(tamperAttacks(), forgeryAttacks(), recordingAttacks(), accidents())
}

func tamperAttacks() []streamAttack {
	return []streamAttack{
		{
			attack: attack{name: "StreamDelete", what: "an event deleted from the stream", has: "the stream", alone: "VERIFIED, GAPS (11)", seen: "producer, number, lost in the stream"},
			holes:  true,
			tamper: func(s *streamTrial) { s.choose(); s.delete(s.messages[s.index].Sequence) },
			missed: func(s *streamTrial, r verifier.Report) string {
				if len(r.Gaps) != 1 || r.Gaps[0].First != r.Gaps[0].Last {
					return "not one gap of one number"
				}
				return wantGap(r, s.event.Producer, s.event.Sequence, verifier.CauseStream)
			},
		},
		{
			attack: attack{name: "StreamManifest", what: "a manifest deleted from the stream", has: "the stream", alone: "VERIFIED, GAPS (11)", seen: "producer and the numbers that it listed"},
			holes:  true,
			tamper: func(s *streamTrial) {
				for s.index = s.random.IntN(len(s.messages)); !s.messages[s.index].Address.Manifest; {
					s.index = (s.index + 1) % len(s.messages)
				}
				s.delete(s.messages[s.index].Sequence)
			},
			missed: func(s *streamTrial, r verifier.Report) string {
				m, err := events.DecodeManifest(s.messages[s.index].Data)
				if err != nil {
					s.Fatal(err)
				}
				return wantGap(r, m.Producer, m.First, verifier.CauseManifest)
			},
		},
		{
			attack: attack{name: "StreamEdit", what: "an event taken out of the stream and put in again with other content", has: "the stream", alone: "VERIFIED, GAPS (11)", seen: "producer, numbers, altered"},
			holes:  true,
			tamper: func(s *streamTrial) {
				s.choose()
				s.delete(s.messages[s.index].Sequence)
				e := s.event
				e.Agent = "somebody else"
				s.world.raw(s, s.messages[s.index].Address, e.Encode())
			},
			missed: func(s *streamTrial, r verifier.Report) string {
				return wantGap(r, s.event.Producer, s.event.Sequence, verifier.CauseAltered)
			},
		},
		{
			attack: attack{name: "StreamPurge", what: "a tenant's events purged from the stream up to one of them", has: "the stream", alone: "VERIFIED, GAPS (11)", seen: "producer, first and last number, lost in the stream"},
			holes:  true,
			tamper: func(s *streamTrial) {
				s.choose()
				token, err := subjects.Token(s.tenant)
				if err != nil {
					s.Fatal(err)
				}
				filter := strings.TrimSuffix(s.world.broker.Space().AllEvents(), ">") + token + ".>"
				err = s.world.stream(s).Purge(deadline(s), jetstream.WithPurgeSubject(filter), jetstream.WithPurgeSequence(s.messages[s.index].Sequence+1))
				if err != nil {
					s.Fatal(err)
				}
			},
			missed: func(s *streamTrial, r verifier.Report) string {
				if len(r.Gaps) != 1 || r.Gaps[0].First != 1 || r.Gaps[0].Last != s.event.Sequence {
					return fmt.Sprintf("not one gap, from #1 to #%d", s.event.Sequence)
				}
				return wantGap(r, s.event.Producer, 1, verifier.CauseStream)
			},
		},
		{
			attack: attack{name: "StreamReplay", what: "a message of the stream put in once more", has: "the stream", alone: "VERIFIED, COMPLETE (0)", seen: "nothing is added"},
			tamper: func(s *streamTrial) {
				s.choose()
				s.world.raw(s, s.messages[s.index].Address, s.messages[s.index].Data)
			},
			missed: func(s *streamTrial, r verifier.Report) string {
				if r.Leaves != int64(len(s.messages)) || r.SetApart+r.SeenAgain != 0 {
					return "something was added"
				}
				return ""
			},
		},
	}
}

func forgeryAttacks() []streamAttack {
	return []streamAttack{
		{
			attack: attack{name: "ForgedID", what: "another producer's event with an id that is taken", has: "a producer", alone: "VERIFIED, COMPLETE (12)", seen: "a finding with both leaves, the first content stays"},
			tamper: func(s *streamTrial) {
				s.choose()
				send(s, s.mallory, s.tenant, s.event.Run, events.Custom, events.CustomData{Name: "forged"}, func(e *events.Event) { e.ID = s.event.ID })
			},
			missed: func(s *streamTrial, r verifier.Report) string {
				if missed := s.stays(); missed != "" {
					return missed
				}
				return wantFinding(r, r.Findings[0].Producer, ledger.FindingIDReused)
			},
		},
		{
			attack: attack{name: "ForgedNumber", what: "other content under a producer's number", has: "the stream", alone: foreignEventsVerdict, seen: "a finding with both leaves, the first content stays"},
			tamper: func(s *streamTrial) {
				s.choose()
				e := s.event
				e.ID, e.Agent = "forged", "somebody else"
				s.world.raw(s, s.messages[s.index].Address, e.Encode())
			},
			missed: func(s *streamTrial, r verifier.Report) string {
				if missed := s.stays(); missed != "" {
					return missed
				}
				return wantFinding(r, s.event.Producer, ledger.FindingSequenceReused)
			},
		},
		{
			attack: attack{name: "ForgedAddress", what: "an event replayed on another producer's subject", has: "the stream", alone: "VERIFIED, COMPLETE (12)", seen: "a finding"},
			tamper: func(s *streamTrial) {
				s.choose()
				a := s.messages[s.index].Address
				a.Producer = "somebody-else"
				s.world.raw(s, a, s.messages[s.index].Data)
			},
			missed: func(_ *streamTrial, r verifier.Report) string {
				return wantFinding(r, "somebody-else", ledger.FindingMisaddressed)
			},
		},
		{
			attack: attack{name: "DeniedResult", what: "a successful result for another producer's denied call", has: "a producer", alone: "VERIFIED, COMPLETE (12)", seen: "both leaves"},
			tamper: func(s *streamTrial) {
				ofCall := func(e *events.Event) { e.ToolCall = "denied" }
				send(s, s.honest, s.tenant, "denied", events.ToolBefore, events.ToolBeforeData{
					Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictDeny},
				}, ofCall)
				flush(s, s.honest)
				send(s, s.mallory, s.tenant, "denied", events.ToolResult, events.ToolResultData{
					Tool: "Bash", Status: events.ToolSuccess,
				}, ofCall)
			},
			missed: func(_ *streamTrial, r verifier.Report) string {
				if len(r.DeniedResults) != 1 || r.DeniedResults[0].Denied >= r.DeniedResults[0].Result {
					return "no alarm"
				}
				return ""
			},
		},
		{
			attack: attack{name: "NotCanonical", what: "JSON that is read in two ways: doubled keys, NaN, 1e400, lone surrogates", has: "a producer", alone: "VERIFIED", seen: "kept byte for byte, or set apart byte for byte"},
			tamper: func(s *streamTrial) { s.notCanonical() },
			missed: func(s *streamTrial, _ verifier.Report) string { return s.holds(s.note) },
		},
	}
}

func (s *streamTrial) stays() string {
	return s.holds(s.messages[s.index].Data)
}

func (s *streamTrial) holds(data any) string {
	s.Helper()
	want, _ := data.([]byte) // no ledger holds nil
	r, done := reader(s, s.world.ledger(s, s.tenant))
	defer done()
	for e, err := range r.After(deadline(s), -1) {
		if err != nil {
			s.Fatal(err)
		}
		if bytes.Equal(e.Bytes, want) {
			return ""
		}
	}
	return "no record has the bytes"
}

// notCanonical sends an event with data that JSON readers interpret differently.
func (s *streamTrial) notCanonical() {
	s.Helper()
	s.choose()
	e := s.event
	e.ID, e.Producer, e.Sequence, e.Type = "odd", "odd", 1, events.Custom.Type()
	e.Data = []byte(`{"name":"MARK"}`)
	odd := pick(s.random, []string{
		`{"name":"a","name":"b"}`, `{"name":NaN}`, `{"name":"n","x":1e400}`, `{"name":"\ud800"}`, `{"name":"\udc00\ud800"}`,
		`{"name":"n","x":-0}`, `{"name":"n","x":1.0000000000000000000000001}`, `{"name":"n","x":Infinity}`, "{\"name\":\"\xff\"}",
		`{"name":"n",}`, ` {"name":"n"}`, `{"n\u0061me":"n"}`, `{"name":"n"}{"name":"m"}`,
	})
	data := bytes.Replace(e.Encode(), []byte(`{"name":"MARK"}`), []byte(odd), 1)
	s.note = data
	s.world.raw(s, subjects.Address{Tenant: s.tenant, Producer: "odd", Run: e.Run, Kind: events.Custom}, data)
}

func accidents() []streamAttack {
	return []streamAttack{
		{
			attack:  attack{name: "ProducerCrash", what: "a producer that crashes between a step and the seal", has: "nothing", alone: "VERIFIED, UNSEALED (11)", seen: "the run"},
			silence: time.Nanosecond,
			publish: func(s *streamTrial) {
				send(s, s.honest, s.tenant, "crashed", events.RunStarted, events.RunStartedData{Title: "gauntlet"})
				sendCalls(s, s.honest, s.tenant, "crashed", s.random.IntN(5))
			},
			missed: func(_ *streamTrial, r verifier.Report) string {
				if len(r.Unsealed) != 1 || r.Unsealed[0] != "crashed" {
					return "the run is not named"
				}
				return ""
			},
		},
		{
			attack: attack{name: "TooLarge", what: "an event of 1.1 MiB, then a small one", has: "nothing", alone: "VERIFIED, COMPLETE (0)", seen: "both are there"},
			publish: func(s *streamTrial) {
				size := 1<<20 + s.random.IntN(1<<18)
				s.note = fmt.Appendf(nil, `"%s"`, strings.Repeat("x", size))
				send(s, s.honest, s.tenant, "run", events.RunStarted, events.RunStartedData{Title: "gauntlet"})
				call := func(e *events.Event) { e.ToolCall = "large" }
				send(s, s.honest, s.tenant, "run", events.ToolBefore, events.ToolBeforeData{Tool: "Read"}, call)
				data, _ := s.note.([]byte) // stored above
				send(s, s.honest, s.tenant, "run", events.ToolResult, events.ToolResultData{Tool: "Read", Status: events.ToolSuccess, Result: data}, call)
				send(s, s.honest, s.tenant, "run", events.RunFinished, events.RunFinishedData{Success: true})
			},
			missed: func(s *streamTrial, _ verifier.Report) string { return s.hasBlob() },
		},
		{
			attack: attack{name: "ClockBack", what: "a producer's clock that is set back by an hour", has: "nothing", alone: "VERIFIED, COMPLETE (0)", seen: "nothing else"},
			publish: func(s *streamTrial) {
				back, n := s.random.IntN(6), 0
				clock := func(e *events.Event) {
					if n++; n > back {
						e.Time = time.Now().Add(-time.Hour)
					}
				}
				send(s, s.honest, s.tenant, "run", events.RunStarted, events.RunStartedData{Title: "gauntlet"}, clock)
				for range 5 {
					send(s, s.honest, s.tenant, "run", events.Custom, events.CustomData{Name: "tick"}, clock)
				}
				send(s, s.honest, s.tenant, "run", events.RunFinished, events.RunFinishedData{Success: true}, clock)
			},
		},
	}
}

func (s *streamTrial) hasBlob() string {
	s.Helper()
	for _, m := range s.messages {
		e, err := events.Decode(m.Data)
		if err != nil || e.Kind() != events.BlobChunk {
			continue
		}
		d, err := events.Payload[events.BlobChunkData](e)
		if err != nil {
			s.Fatal(err)
		}
		content, err := ledgertest.Blob(s.world.ledger(s, s.tenant), d.SHA256)
		switch want, _ := s.note.([]byte); {
		case errors.Is(err, ledgertest.ErrNoBlob):
			return "the blob is not there"
		case err != nil:
			s.Fatal(err)
		case !bytes.Contains(content, want):
			return "the blob is another one"
		}
		return ""
	}
	return "the stream has no part of a blob"
}
