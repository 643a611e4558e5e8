package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// listing is what a digest lists: its entries are records of their own.
type listing struct {
	Entries int       `json:"entries"`
	Count   int       `json:"count"` // occurrences of all entries
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Made    time.Time `json:"made"`
	Pending bool      `json:"pending,omitempty"` // its description is to be made anew
}

var listings = table[listing]{kind: "digest"}

// entry is one thing that got no issue of its own.
type entry struct {
	Digest string    `json:"digest"`
	Title  string    `json:"title"`
	Count  int       `json:"count"`
	Runs   []string  `json:"runs,omitempty"`
	More   bool      `json:"more,omitempty"` // there are more runs
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
}

var entries = table[entry]{"entry", func(e *entry) { e.Runs = slices.Clone(e.Runs) }}

// maxEntryRuns bounds the runs that an entry names.
const maxEntryRuns = 5

func entryID(digest string, n int) string { return fmt.Sprintf("%s/%d", digest, n) }

// list lists the event in the tenant's digest under title. It returns the digest
// and the number of the entry.
func (f *fold) list(title string) (digest string, n int) {
	t := f.clock()
	if !f.lists(t.Digest) {
		t.Digests++
		t.Digest = ID(f.tenant, "digest", fmt.Sprint(t.Digests))
		*listings.edit(f.state, f.tenant, t.Digest) = listing{First: f.stamp.At, Last: f.stamp.At, Made: f.now}
		f.create(Issue{
			ID: t.Digest, Kind: Digest, Status: Open,
			Title:       f.title(fmt.Sprintf("digest %d of what got no issue of its own", t.Digests), ""),
			Description: "Lists what was beyond the limits:\n\n- " + title,
		}, course{})
	}
	l := listings.edit(f.state, f.tenant, t.Digest)
	l.Entries++
	*entries.edit(f.state, f.tenant, entryID(t.Digest, l.Entries)) = entry{Digest: t.Digest, Title: title, First: f.stamp.At}
	f.say("digest", fmt.Sprintf("it is entry %d of digest %s", l.Entries, t.Digest))
	f.listAgain(t.Digest, l.Entries)
	return t.Digest, l.Entries
}

// lists reports whether the digest id takes new entries.
func (f *fold) lists(id string) bool {
	l := listings.get(f.state, f.tenant, id)
	return id != "" && l != nil && f.isOpen(id) && f.now.Sub(l.Made).Abs() <= f.config.Digest.Age
}

// listAgain counts the event at an entry of a digest.
func (f *fold) listAgain(digest string, n int) {
	if entries.get(f.state, f.tenant, entryID(digest, n)) == nil {
		return
	}
	f.occur(digest)
	e, l := entries.edit(f.state, f.tenant, entryID(digest, n)), listings.edit(f.state, f.tenant, digest)
	e.Count++
	l.Count++
	e.First, e.Last = earlier(e.First, f.stamp.At), latest(e.Last, f.stamp.At)
	l.First, l.Last = earlier(l.First, f.stamp.At), latest(l.Last, f.stamp.At)
	if run := f.event.Run; run != "" && !slices.Contains(e.Runs, run) {
		if len(e.Runs) < maxEntryRuns {
			e.Runs = append(e.Runs, run)
		} else {
			e.More = true
		}
	}
	if e.Count > 1 {
		f.say("digest", fmt.Sprintf("entry %d of digest %s counts it: %d times", n, digest, e.Count))
	}
	if !l.Pending {
		l.Pending = true
		f.state.setTimer(f.tenant, digestKind+"/"+digest, after(earlier(f.now, f.clock().Clock), f.config.Digest.Pause))
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// describe gives a digest the description of what it lists now.
func (f *fold) describe(digest string) {
	l := listings.edit(f.state, f.tenant, digest)
	l.Pending = false
	if !f.isOpen(digest) {
		return
	}
	text := f.digestText(digest, l)
	issue := all.edit(f.state, f.tenant, digest)
	if issue.Description == text {
		return
	}
	issue.Description = text
	f.effect(Effect{Op: OpDescribe, ID: digest, At: f.stamp.At, Text: text})
	f.say("digest described", "digest "+digest+" has a new description")
}

// digestText says what a digest lists: the first entries, the earliest first.
func (f *fold) digestText(digest string, l *listing) string {
	var list []entry
	for n := 1; n <= min(l.Entries, f.config.Digest.Entries); n++ {
		if e := entries.get(f.state, f.tenant, entryID(digest, n)); e != nil {
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
		fmt.Fprintf(&b, "- %s: %s\n", e.Title, e.seen())
	}
	if more := l.Entries - len(list); more > 0 {
		fmt.Fprintf(&b, "- and %d more\n", more)
	}
	return b.String()
}

// seen says how often an entry was seen, where and when.
func (e entry) seen() string {
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
