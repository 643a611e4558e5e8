package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

type denial struct {
	Event   string    `json:"event,omitempty"`   // id of the event that denied the call, if any yet
	Results []success `json:"results,omitempty"` // results that arrived before the denial
	Count   int       `json:"count,omitempty"`   // results that arrived after it, or were in Results then
	Issue   string    `json:"issue,omitempty"`
	Digest  string    `json:"digest,omitempty"` // digest that lists the alarm if Issue is empty
	Entry   int       `json:"entry,omitempty"`  // number of the entry in the digest
}

type success struct {
	Event  string    `json:"event"`
	Source string    `json:"source"`
	Tool   string    `json:"tool,omitempty"`
	At     time.Time `json:"at"`
}

var denials = table[denial]{"denied", func(d *denial) { d.Results = slices.Clone(d.Results) }}

// denialID joins a run id and a call id. It includes the length of the run id, so that different
// calls get different ids even if a run id contains a line feed.
func denialID(run, call string) string {
	if strings.Contains(run, "\n") {
		return fmt.Sprintf("\n%d %s%s", len(run), run, call)
	}
	return run + "\n" + call
}

const (
	maxResults    = 8
	maxRemembered = 1 << 15
)

type remembered struct {
	Denial string `json:"denial"`
}

var rememberedCalls = table[remembered]{kind: "succeeded"}

func (r records) remember(id string, s success) {
	known := denials.get(r, id)
	if known == nil {
		t := r.clock()
		slot := rememberedCalls.edit(r, strconv.FormatUint(t.Succeeded%maxRemembered, 10))
		if old := denials.get(r, slot.Denial); old != nil && old.Event == "" {
			denials.drop(r, slot.Denial)
		}
		slot.Denial = id
		t.Succeeded++
	}
	same := func(other success) bool { return other.Event == s.Event && other.Source == s.Source }
	if known == nil || len(known.Results) < maxResults && !slices.ContainsFunc(known.Results, same) {
		d := denials.edit(r, id)
		d.Results = append(d.Results, s)
	}
}
