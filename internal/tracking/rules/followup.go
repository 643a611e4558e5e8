package rules

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/tracking/deferred"
)

type followup struct {
	Title      string `json:"title"`
	Target     string `json:"target,omitempty"`
	Key        string `json:"key"`
	Generation int    `json:"generation,omitempty"`
	Issue      string `json:"issue,omitempty"`
	Digest     string `json:"digest,omitempty"` // digest that lists the item if Issue is empty
	Entry      int    `json:"entry,omitempty"`  // number in Digest
	Run        string `json:"run,omitempty"`    // run that caused the issue
	Remaining  bool   `json:"remaining,omitempty"`
	Sources    int    `json:"sources,omitempty"` // steps and run ends that left it undone
	Last       Stamp  `json:"last,omitzero"`     // latest report that it is undone
	Done       fact   `json:"done,omitzero"`
	Withdrawn  fact   `json:"withdrawn,omitzero"` // set when no source reports the item any more
}

var followups = table[followup]{kind: "followup"}

func followupKey(tenant, target, item string) string { return ID(tenant, "item", target, item) }

func (u *followup) follower() string { return cmp.Or(u.Issue, u.Digest) }

func (u *followup) status() (Status, string) {
	switch {
	case u.Sources == 0:
		return Closed, "Withdrawn: a later report no longer leaves this over"
	case u.Last.before(u.Done.Stamp):
		return Closed, "A later summary says that it is done"
	}
	return Open, "Left over again"
}

type leftover struct {
	Step      string   `json:"step,omitempty"` // step key. Empty for the end of the run
	Name      string   `json:"name"`           // displayed name of the step or run
	Target    string   `json:"target,omitempty"`
	Partial   bool     `json:"partial,omitempty"`
	Remaining []string `json:"remaining,omitempty"`
	Deferred  []string `json:"deferred,omitempty"`
}

type wordIndex struct {
	Followups []string `json:"followups"`
}

var wordIndexes = table[wordIndex]{"word", func(i *wordIndex) { i.Followups = slices.Clone(i.Followups) }}

const (
	maxIndexed = 50 // follow-ups per word. A new follow-up replaces the oldest
	maxWords   = 20 // per follow-up
)

func itemWords(key string) []string {
	var words []string
	for w := range strings.FieldsSeq(key) {
		if utf8.RuneCountInString(w) >= 3 && len(words) < maxWords && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}

func indexFollowup(r records, id string, u *followup) {
	for _, w := range itemWords(u.Key) {
		if i := wordIndexes.get(r, w); i != nil && slices.Contains(i.Followups, id) {
			continue
		}
		i := wordIndexes.edit(r, w)
		if len(i.Followups) >= maxIndexed {
			i.Followups = slices.Delete(i.Followups, 0, 1)
		}
		i.Followups = append(i.Followups, id)
	}
}

func unindexFollowup(r records, id string, u *followup) {
	for _, w := range itemWords(u.Key) {
		if i := wordIndexes.get(r, w); i == nil || !slices.Contains(i.Followups, id) {
			continue
		}
		i := wordIndexes.edit(r, w)
		i.Followups = slices.DeleteFunc(i.Followups, func(other string) bool { return other == id })
		if len(i.Followups) == 0 {
			wordIndexes.drop(r, w)
		}
	}
}

func similarFollowup(r records, key, target string, percent int) string {
	best, longest := "", 0
	for _, w := range itemWords(key) {
		i := wordIndexes.get(r, w)
		if i == nil {
			continue
		}
		for _, id := range i.Followups {
			u := followups.get(r, id)
			if u == nil || u.Target != target && u.Target != "" && target != "" {
				continue
			}
			if n := len(u.Key); n > longest && deferred.Covers(key, u.Key, percent) {
				best, longest = id, n
			}
		}
	}
	return best
}
