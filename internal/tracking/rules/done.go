package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/tracking/deferred"
)

// index finds open follow-ups by a word of theirs.
type index struct {
	Followups []string `json:"followups"`
}

var indexes = table[index]{"word", func(i *index) { i.Followups = slices.Clone(i.Followups) }}

const (
	maxIndexed = 50 // follow-ups of a word; the oldest make room
	maxWords   = 20 // of a follow-up
)

// itemWords returns the words of an item by which it is found.
func itemWords(key string) []string {
	var words []string
	for w := range strings.FieldsSeq(key) {
		if utf8.RuneCountInString(w) >= 3 && len(words) < maxWords && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}

// index makes an open follow-up known by its words.
func (f *fold) index(id string, u *followup) {
	for _, w := range itemWords(u.Key) {
		if known := indexes.get(f.state, f.tenant, w); known != nil && slices.Contains(known.Followups, id) {
			continue
		}
		i := indexes.edit(f.state, f.tenant, w)
		if len(i.Followups) >= maxIndexed {
			i.Followups = slices.Delete(i.Followups, 0, 1)
		}
		i.Followups = append(i.Followups, id)
	}
}

// forget takes a follow-up out of the index.
func (f *fold) forget(id string, u *followup) {
	for _, w := range itemWords(u.Key) {
		known := indexes.get(f.state, f.tenant, w)
		if known == nil || !slices.Contains(known.Followups, id) {
			continue
		}
		i := indexes.edit(f.state, f.tenant, w)
		i.Followups = slices.DeleteFunc(i.Followups, func(other string) bool { return other == id })
		if len(i.Followups) == 0 {
			indexes.drop(f.state, f.tenant, w)
		}
	}
}

// done closes the follow-ups that a summary says are done.
func (f *fold) done(summary, target string) {
	if target == "" {
		target = f.run().Target
	}
	for _, item := range deferred.Done(summary) {
		key := deferred.Key(item)
		found := false
		for _, at := range distinctTexts(target, "") {
			id := followupKey(f.tenant, at, key)
			u := followups.edit(f.state, f.tenant, id)
			if u.Key == "" { // it may be heard of later
				u.Title, u.Target, u.Key = clean(item, 300), at, key
			}
			u.Done = u.Done.latest(fact{f.stamp, f.event.Run})
			found = f.finished(id, u) || found
		}
		if id := f.alike(key, target); !found && id != "" {
			u := followups.edit(f.state, f.tenant, id)
			u.Done = u.Done.latest(fact{f.stamp, f.event.Run})
			f.finished(id, u)
		}
	}
}

func distinctTexts(list ...string) []string { return slices.Compact(list) }

// finished closes a follow-up that is done, and reports whether it was open.
func (f *fold) finished(id string, u *followup) bool {
	if !f.isOpen(u.Issue) {
		return false
	}
	if to, _ := u.status(); to != Closed {
		return false
	}
	f.say("done", "the summary says that a follow-up is done")
	f.settleFollowup(id, u)
	f.progress(u.Issue)
	return true
}

// alike returns the open follow-up whose words are those of key for the most
// part, "" if there is none.
func (f *fold) alike(key, target string) string {
	words := itemWords(key)
	best, share := "", f.config.DoneWords-1
	for _, w := range words {
		known := indexes.get(f.state, f.tenant, w)
		if known == nil {
			continue
		}
		for _, id := range known.Followups {
			u := followups.get(f.state, f.tenant, id)
			if u == nil || u.Target != target && u.Target != "" && target != "" {
				continue
			}
			if s := shared(words, itemWords(u.Key)); s > share {
				best, share = id, s
			}
		}
	}
	return best
}

// shared returns how many percent of the words of the longer list are in both.
func shared(a, b []string) int {
	n := 0
	for _, w := range a {
		if slices.Contains(b, w) {
			n++
		}
	}
	return 100 * n / max(len(a), len(b), 1)
}
