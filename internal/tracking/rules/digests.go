package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

type listing struct {
	Entries int       `json:"entries"`
	Count   int       `json:"count"` // occurrences of all entries
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Made    time.Time `json:"made"`
	Pending bool      `json:"pending,omitempty"` // a timer will update the description
}

var listings = table[listing]{kind: "digest"}

type entry struct {
	Digest string    `json:"digest"`
	Title  string    `json:"title"`
	Count  int       `json:"count"`
	Runs   []string  `json:"runs,omitempty"`
	More   bool      `json:"more,omitempty"` // Runs does not contain all runs
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
}

var entries = table[entry]{"entry", func(e *entry) { e.Runs = slices.Clone(e.Runs) }}

const maxEntryRuns = 5

func entryID(digest string, n int) string { return fmt.Sprintf("%s/%d", digest, n) }

type digests struct {
	draft   *draft
	journal *journal
}

func (g *digests) add(title string) (digest string, n int) {
	d := g.draft
	t := d.clock()
	if !g.accepts(t.Digest) {
		t.Digests++
		t.Digest = ID(d.tenant, "digest", fmt.Sprint(t.Digests))
		*listings.edit(d.records, t.Digest) = listing{First: d.stamp.At, Last: d.stamp.At, Made: d.now}
		g.journal.create(Issue{
			ID: t.Digest, Kind: Digest, Status: Open,
			Title:       issueTitle(d.config, fmt.Sprintf("digest %d of what got no issue of its own", t.Digests), ""),
			Description: "Lists what was beyond the limits:\n\n- " + title,
		}, course{})
	}
	l := listings.edit(d.records, t.Digest)
	l.Entries++
	*entries.edit(d.records, entryID(t.Digest, l.Entries)) = entry{Digest: t.Digest, Title: title, First: d.stamp.At}
	d.say("digest", fmt.Sprintf("it is entry %d of digest %s", l.Entries, t.Digest))
	g.repeat(t.Digest, l.Entries)
	return t.Digest, l.Entries
}

func (g *digests) accepts(id string) bool {
	d := g.draft
	l := listings.get(d.records, id)
	return id != "" && l != nil && d.isOpen(id) && d.now.Sub(l.Made).Abs() <= d.config.Digest.Age
}

func (g *digests) repeat(digest string, n int) {
	d := g.draft
	if entries.get(d.records, entryID(digest, n)) == nil {
		return
	}
	g.journal.occur(digest)
	e, l := entries.edit(d.records, entryID(digest, n)), listings.edit(d.records, digest)
	e.Count++
	l.Count++
	e.First, e.Last = earlier(e.First, d.stamp.At), latest(e.Last, d.stamp.At)
	l.First, l.Last = earlier(l.First, d.stamp.At), latest(l.Last, d.stamp.At)
	if run := d.event.Run; run != "" && !slices.Contains(e.Runs, run) {
		if len(e.Runs) < maxEntryRuns {
			e.Runs = append(e.Runs, run)
		} else {
			e.More = true
		}
	}
	if e.Count > 1 {
		d.say("digest", fmt.Sprintf("entry %d of digest %s counts it: %d times", n, digest, e.Count))
	}
	if !l.Pending {
		l.Pending = true
		d.setTimer(digestKind+"/"+digest, after(earlier(d.now, d.clock().Clock), d.config.Digest.Pause))
	}
}

func (g *digests) describe(digest string) {
	l := listings.edit(g.draft.records, digest)
	l.Pending = false
	if g.draft.isOpen(digest) && g.journal.describe(digest, g.text(digest, l)) {
		g.draft.say("digest described", "digest "+digest+" has a new description")
	}
}

func (g *digests) text(digest string, l *listing) string {
	var list []entry
	for n := 1; n <= min(l.Entries, g.draft.config.Digest.Entries); n++ {
		if e := entries.get(g.draft.records, entryID(digest, n)); e != nil {
			list = append(list, *e)
		}
	}
	slices.SortStableFunc(list, func(a, b entry) int {
		return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Title, b.Title))
	})
	var b strings.Builder
	fmt.Fprintf(&b, "Lists what was beyond the limits: %d entries, seen %d times, from %s to %s.\n\n",
		l.Entries, l.Count, l.First.Format(time.RFC3339), l.Last.Format(time.RFC3339))
	for _, e := range list {
		fmt.Fprintf(&b, "- %s: %s\n", e.Title, e.summary())
	}
	if more := l.Entries - len(list); more > 0 {
		fmt.Fprintf(&b, "- and %d more\n", more)
	}
	return b.String()
}

func (e entry) summary() string {
	times := "once"
	if e.Count != 1 {
		times = fmt.Sprintf("%d times", e.Count)
	}
	runs := make([]string, len(e.Runs))
	for i, r := range e.Runs {
		runs[i] = clean(r, 60)
	}
	where := strings.Join(runs, ", ")
	if e.More {
		where += " and others"
	}
	when := e.First.Format(time.RFC3339)
	if e.Last.After(e.First) {
		when += " to " + e.Last.Format(time.RFC3339)
	}
	return fmt.Sprintf("%s, in %s, %s", times, where, when)
}
