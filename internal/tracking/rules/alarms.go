package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// alarms creates issues for dangerous events, such as a successful call that was denied. No
// attribute of an event turns it off, because the attribute may be forged.
type alarms struct {
	draft   *draft
	journal *journal
	digests *digests
	limiter *limiter
}

func (a *alarms) watch() []success {
	d := a.draft
	e := d.event
	if e.Run == "" || e.ToolCall == "" {
		return nil
	}
	id := denialID(e.Run, e.ToolCall)
	known := denials.view(d.records, id)
	switch {
	case e.DeniesCall() && known.Event == "":
		n := denials.edit(d.records, id)
		earlier := n.Results
		n.Event, n.Results = e.ID, nil
		return earlier
	case !e.CallSucceeded():
	case known.Event == "":
		d.remember(id, success{Event: e.ID, Source: e.Source, Tool: toolOf(e), At: d.stamp.At})
	case !seenBefore(d.records, e):
		a.denied(toolOf(e))
	}
	return nil
}

func toolOf(e events.Event) (tool string) {
	for name, value := range events.Members(e.Data) {
		if text, ok := events.TextOf(value); ok && name == "tool" {
			tool = text
			break
		}
	}
	return clean(tool, 60)
}

func (p *pass) earlier(denial events.Event, r success, now time.Time) {
	e := events.Event{
		ID: r.Event, Source: r.Source, Type: events.ToolResult.Type(), Run: denial.Run, ToolCall: denial.ToolCall, Time: r.At,
	}
	f := newFold(p, e, Stamp{At: r.At}, now)
	f.alarms.denied(r.Tool)
	p.give(f)
}

func (a *alarms) denied(tool string) {
	d := a.draft
	id := denialID(d.event.Run, d.event.ToolCall)
	if denials.view(d.records, id).Count >= maxResults {
		return
	}
	m := marks.edit(d.records, markID(d.records, d.event.ID, d.event.Source))
	m.Source, m.Seen = d.event.Source, true
	known := denials.edit(d.records, id)
	known.Count++
	d.say("denied call succeeded", "the call was denied by event "+clean(known.Event, 300)+", and has a successful result")
	d.flip("no denial of the call before its result, or a result that is an error")
	if known.Issue != "" || known.Digest != "" {
		a.journal.occur(known.Issue)
		a.digests.repeat(known.Digest, known.Entry)
		return
	}
	call := clean(d.event.ToolCall, 300)
	issue := Issue{
		ID:    ID(d.tenant, "denied", d.event.Run, d.event.ToolCall),
		Title: issueTitle(d.config, "denied call succeeded", tool+" in run "+clean(d.event.Run, 300)),
		Description: fmt.Sprintf("Event %s denied the tool call %s, and event %s says that it succeeded. "+
			"Either the denial had no effect, or the result is forged. auditor verify names both records.",
			clean(known.Event, 300), call, clean(d.event.ID, 300)),
	}
	known.Issue, known.Digest, known.Entry = a.raise(issue)
}

func (a *alarms) compare() {
	d := a.draft
	id := markID(d.records, d.event.ID, d.event.Source)
	sum := contentOf(d.event)
	if m := marks.get(d.records, id); m.Sum == "" || m.Sum == sum || slices.Contains(earlierContents(d.event), m.Sum) || slices.Contains(m.Others, sum) || len(m.Others) >= maxOthers {
		return
	}
	m := marks.edit(d.records, id)
	m.Others = append(m.Others, sum)
	d.decision.Source += fmt.Sprintf("#%d", len(m.Others)+1)
	d.say("id reused", "another event with this id has other content, and only the first one counts")
	d.flip("the same content, or another id")
	issue := ID(d.tenant, "id reused", d.event.Source, d.event.ID)
	if issues.get(d.records, issue) != nil {
		a.journal.occur(issue)
		return
	}
	a.raise(Issue{
		ID:    issue,
		Title: issueTitle(d.config, "event id used twice", clean(d.event.ID, 300)),
		Description: fmt.Sprintf("Another event with the id %s arrived, and it has other content. One of the two may be forged. "+
			"The tracker counts the first one only. auditor verify names both records.", clean(d.event.ID, 300)),
	})
}

func (a *alarms) raise(issue Issue) (id, digest string, entry int) {
	if !a.limiter.allow(true) {
		digest, entry = a.digests.add(issue.Title)
		return "", digest, entry
	}
	issue.Kind, issue.Status = Alarm, Open
	a.journal.create(issue, course{})
	return issue.ID, "", 0
}

const maxOthers = 8

func contentOf(e events.Event) string { return contentWithout(e, "", e.Unstated()) }

func earlierContents(e events.Event) []string {
	return []string{contentWithout(e, e.Step, nil), contentWithout(e, "", nil)}
}

func contentWithout(e events.Event, step string, unstated map[string]bool) string {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(e.Type), []byte(e.Run), []byte(step), []byte(e.ToolCall), withoutHooks(e.Data, unstated), e.Binary} {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

const maxSorted = 256

func withoutHooks(data json.RawMessage, unstated map[string]bool) []byte {
	sorted := make(map[string]json.RawMessage)
	var text []byte
	for name, value := range events.Members(data) {
		switch {
		case unstated[name]:
			continue
		case name == "executions" || name == "verdict" && string(value) == `"`+string(events.VerdictNone)+`"`:
			delete(sorted, name)
			continue
		case len(sorted) < maxSorted:
			sorted[name] = value
		}
		text = append(append(strconv.AppendQuote(text, name), value...), ',')
	}
	if len(data) > 0 && data[0] == '{' && len(sorted) < maxSorted {
		if sorted, err := json.Marshal(sorted); err == nil {
			return sorted
		}
	}
	if text == nil {
		return data
	}
	return text
}
