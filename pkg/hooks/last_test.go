package hooks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// part is a random hook of a chain. Its value is a tag that it adds to the value of the point.
type part struct {
	Name     string
	Verdict  Verdict // only at decision points
	Tag      string
	Last     bool
	Fails    bool
	Late     bool // answers after its deadline
	Mode     FailureMode
	Level    Isolation
	Priority int
}

func randomParts(rnd *rand.Rand, verdicts ...Verdict) []part {
	list := make([]part, rnd.IntN(6))
	for i := range list {
		list[i] = part{
			Name: fmt.Sprint("h", i), Verdict: verdicts[rnd.IntN(len(verdicts))], Last: rnd.IntN(3) == 0,
			Fails: rnd.IntN(6) == 0, Late: rnd.IntN(8) == 0, Priority: rnd.IntN(3) - 1,
			Mode:  []FailureMode{Warn, Block, Ignore}[rnd.IntN(3)],
			Level: []Isolation{Pooled, Inline, External}[rnd.IntN(3)],
		}
		if rnd.IntN(2) == 0 {
			list[i].Tag = fmt.Sprint("t", i)
		}
	}
	return list
}

func (p part) options() []Option {
	opts := []Option{Name(p.Name), OnFailure(p.Mode), Isolate(p.Level), Priority(p.Priority), Timeout(time.Second)}
	if p.Last {
		opts = append(opts, Last())
	}
	return opts
}

// act fails, waits or returns like the hook, and notes the value that the hook gets.
func (p part) act(seen map[string]JSON, value JSON) error {
	if p.Late {
		time.Sleep(time.Second + time.Millisecond) // shorter than Grace, so an External hook ends by itself
	}
	if p.Fails {
		return errTest
	}
	if !p.Late {
		seen[p.Name] = value
	}
	return nil
}

func tagged(value JSON, tag string) JSON {
	var m map[string]string
	if err := value.Decode(&m); err != nil {
		panic(err)
	}
	if tag != "" {
		m[tag] = "x"
		m["order"] += tag
	}
	out, err := Marshal(m)
	if err != nil {
		panic(err)
	}
	return out
}

func inOrder(list []part) []part {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b part) int {
		if a.Last != b.Last {
			if b.Last {
				return -1
			}
			return 1
		}
		return a.Priority - b.Priority
	})
	return list
}

type modelled struct {
	verdict   Verdict
	by        string
	value     JSON
	prevented bool
	seen      map[string]JSON
}

// decisions is a direct implementation of the rules of decision points.
func decisions(list []part, asked JSON, gathered bool) modelled {
	m := modelled{verdict: None, value: asked, seen: map[string]JSON{}}
	for _, p := range inOrder(list) {
		verdict := p.Verdict
		failed := p.Fails || p.Late
		if !failed {
			m.seen[p.Name] = m.value
			if gathered && !p.Last {
				m.seen[p.Name] = asked
			}
		}
		switch {
		case failed:
			verdict = None
		case p.Tag == "" || verdict == Deny:
		case p.Last: // it must not patch
			failed = true
			if verdict != Ask {
				verdict = None
			}
		case gathered:
			m.value = merged(m.value, p.Tag)
		default:
			m.value = tagged(m.value, p.Tag)
		}
		if failed && p.Mode == Block && rank(verdict) < rank(Deny) {
			if rank(verdict) > rank(m.verdict) {
				m.verdict, m.by = verdict, p.Name
			}
			verdict = Deny
		}
		if rank(verdict) > rank(m.verdict) {
			m.verdict, m.by = verdict, p.Name
		}
		if m.verdict == Deny {
			break
		}
	}
	return m
}

// transforms is a direct implementation of the rules of transform points.
func transforms(list []part, value JSON) modelled {
	m := modelled{value: value, seen: map[string]JSON{}}
	list = inOrder(list)
	for i := 0; i < len(list); i++ {
		p := list[i]
		if p.Fails || p.Late {
			if p.Mode != Block {
				continue
			}
			m.prevented = true
			if p.Last {
				break
			}
			for i+1 < len(list) && !list[i+1].Last {
				i++
			}
			continue
		}
		m.seen[p.Name] = m.value
		m.value = tagged(m.value, p.Tag)
	}
	return m
}

func merged(value JSON, tag string) JSON {
	out, err := mergeObjects(value, JSON(`{"`+tag+`":"x"}`))
	if err != nil {
		panic(err)
	}
	return out
}

const chains = 10_000

// Hooks with Last get the final value of their point in 10,000 random chains, whatever the order of
// registration, and also if hooks fail or answer late.
func TestLast_ChainsFollowTheModel(t *testing.T) {
	verdicts := []Verdict{None, None, Allow, Ask, Deny}
	for seed := range uint64(race.Size(chains, 2_000)) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		list := randomParts(rnd, verdicts...)
		synctest.Test(t, func(t *testing.T) {
			r := NewRegistry(Options{})
			defer r.Close(context.Background())
			got := modelled{seen: map[string]JSON{}}
			var want modelled
			switch seed % 3 {
			case 0:
				want = decisions(list, `{}`, false)
				for _, p := range list {
					ToolBefore.On(r, func(_ context.Context, _ Meta, c ToolCall) (*ToolDecision, error) {
						d := &ToolDecision{Verdict: p.Verdict, Reason: p.Name}
						if p.Tag != "" {
							d.Patch = patch(tagged(c.Args, p.Tag))
						}
						return d, p.act(got.seen, c.Args)
					}, p.options()...)
				}
				out := ToolBefore.Dispatch(t.Context(), r, Meta{}, ToolCall{Tool: "Bash", Args: `{}`})
				got.verdict, got.value, got.by = out.Verdict, out.Input.Args, nameOf(out.By, out.Executions)
			case 1:
				want = decisions(list, `{}`, true)
				for _, p := range list {
					StepBefore.On(r, func(_ context.Context, _ Meta, s Step) (*StepDecision, error) {
						d := &StepDecision{Verdict: p.Verdict, Reason: p.Name}
						if p.Tag != "" {
							d.Patch = &StepPatch{State: JSON(`{"` + p.Tag + `":"x"}`)}
						}
						return d, p.act(got.seen, s.State)
					}, p.options()...)
				}
				out := StepBefore.Dispatch(t.Context(), r, Meta{}, Step{State: `{}`})
				got.verdict, got.value, got.by = out.Verdict, out.Input.State, nameOf(out.By, out.Executions)
			case 2:
				want = transforms(list, `{}`)
				for _, p := range list {
					StepOutput.On(r, func(_ context.Context, _ Meta, _ StepState, v JSON) (*JSON, error) {
						out := tagged(v, p.Tag)
						return &out, p.act(got.seen, v)
					}, p.options()...)
				}
				out := StepOutput.Dispatch(t.Context(), r, Meta{}, StepState{}, `{}`)
				got.value, got.prevented = out.Value, out.Prevented
			}
			if err := r.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(modelled{})); diff != "" {
				t.Fatalf("chain %d %+v (-want +got):\n%s", seed, list, diff)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// A hook of the file that comes after the rule changes the command.
//
//guarantee:judged-last
func TestLast_JudgesTheFinalArgs(t *testing.T) {
	for level, isolate := range isolations {
		t.Run(level, func(t *testing.T) {
			r, k := recorded(t)
			ToolBefore.On(r, func(_ context.Context, _ Meta, c ToolCall) (*ToolDecision, error) {
				if strings.Contains(string(c.Args), "rm -rf /") {
					return DenyTool("no"), nil
				}
				return nil, nil
			}, Name("rule"), Priority(-5), isolate, Last())
			ToolBefore.On(r, func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
				return ModifyTool(`{"command":"rm -rf /"}`), nil
			}, Priority(5), isolate)
			out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{Tool: "Bash", Args: `{"command":"ls"}`})
			if out.Verdict != Deny || out.Reason != "no" || out.Input.Args != `{"command":"rm -rf /"}` {
				t.Errorf("got %+v", out)
			}
			if _, data := only[events.ToolBeforeData](t, k, events.ToolBefore); data.Verdict != Deny || string(data.PatchedArgs) != `{"command":"rm -rf /"}` {
				t.Errorf("recorded %+v", data)
			}
			if list := r.List(); !list[0].Last || list[1].Last {
				t.Errorf("listed %+v", list)
			}
		})
	}
}

// A message that is not stored is recorded, so the scrubbers clean it too.
func TestLast_RecordOfAPreventedMessage(t *testing.T) {
	r, k := recorded(t)
	MessageCreate.On(r, func(context.Context, Meta, NoSubject, JSON) (*JSON, error) {
		clean := JSON(`{"id":"m","role":"user","content":"[SECRET]"}`)
		return &clean, nil
	}, Name("scrub"), Last())
	MessageCreate.On(r, func(context.Context, Meta, NoSubject, JSON) (*JSON, error) { return nil, errTest }, Name("format"))
	out := MessageCreate.Dispatch(t.Context(), r, somewhere, NoSubject{}, `{"id":"m","role":"user","content":"hunter2"}`)
	if !out.Prevented || names(out.Executions) != "format scrub" {
		t.Errorf("got %+v", out)
	}
	e, data := only[events.MessageData](t, k, events.MessageCreate)
	if strings.Contains(string(e.Data), "hunter2") || data.Verdict != Deny || data.Reason != "hook format failed: failed" {
		t.Errorf("recorded %s", e.Data)
	}
}
