package rulestest

import (
	"cmp"
	"fmt"
	"slices"
)

// Verdict is the result of comparing an [Outcome] with the issues that a scenario expects.
type Verdict struct {
	Right    int // expected issues with the expected end
	Issues   int // issues in the outcome
	Wanted   int // required issues, and optional issues that exist
	Problems []string
}

// Add adds the numbers of other to v. It does not add the problems.
func (v *Verdict) Add(other Verdict) {
	v.Right += other.Right
	v.Issues += other.Issues
	v.Wanted += other.Wanted
}

// Precision returns the share of the created issues that were expected, from 0 to 1.
func (v Verdict) Precision() float64 { return share(v.Right, v.Issues) }

// Recall returns the share of the expected issues that were created, from 0 to 1.
func (v Verdict) Recall() float64 { return share(v.Right, v.Wanted) }

func share(n, of int) float64 {
	if of == 0 {
		return 1
	}
	return float64(n) / float64(of)
}

// Judge compares the issues of an outcome with the expected issues of a scenario. It finds
// duplicates, unexpected issues (spam) and missing issues.
func Judge(sc Scenario, o Outcome) Verdict {
	v := Verdict{Issues: len(o.Issues)}
	pairs := match(sc, o)
	matched := make([]bool, len(sc.Expected))
	transitions := 0
	for n, i := range o.Issues {
		transitions += len(i.Transitions)
		at := pairs[n]
		if at < 0 {
			v.Problems = append(v.Problems, fmt.Sprintf("%s is %s", i.words(), misfit(sc, i)))
			continue
		}
		matched[at] = true
		want := sc.Expected[at]
		faults := want.faults(i)
		v.Problems = append(v.Problems, faults...)
		if len(faults) == 0 {
			v.Right++
		}
	}
	for n, want := range sc.Expected {
		if !want.Optional || matched[n] {
			v.Wanted++
		}
		if !want.Optional && !matched[n] {
			v.Problems = append(v.Problems, fmt.Sprintf("missed: %v issue %q of %s, of %s", want.Kind, want.Key, want.Tenant, some(want.Covers)))
		}
	}
	if limit := sc.Limits.Transitions; limit > 0 && transitions > limit {
		v.Problems = append(v.Problems, fmt.Sprintf("%d transitions, at most %d", transitions, limit))
	}
	if limit := sc.Limits.Issues; limit > 0 && len(o.Issues) > limit {
		v.Problems = append(v.Problems, fmt.Sprintf("%d issues, at most %d", len(o.Issues), limit))
	}
	return v
}

func match(sc Scenario, o Outcome) []int {
	type pair struct{ issue, want, fit int }
	var pairs []pair
	for n, i := range o.Issues {
		for at, want := range sc.Expected {
			if want.may(i) {
				pairs = append(pairs, pair{n, at, want.fit(i)})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.fit, a.fit) })
	got, taken := make([]int, len(o.Issues)), make([]bool, len(sc.Expected))
	for n := range got {
		got[n] = -1
	}
	for _, p := range pairs {
		if got[p.issue] < 0 && !taken[p.want] {
			got[p.issue], taken[p.want] = p.want, true
		}
	}
	return got
}

func (want Expected) may(i Issue) bool {
	return i.Tenant == want.Tenant && len(i.Events) > 0 && slices.Contains(want.Covers, i.Events[0])
}

func (want Expected) fit(i Issue) int {
	fit := 0
	if slices.Contains(want.Kind, i.Kind) {
		fit += 8
	}
	if !want.Optional {
		fit += 4
	}
	if slices.Contains(want.Final, i.Status) {
		fit += 2
	}
	if len(want.faults(i)) == 0 {
		fit++
	}
	return fit
}

func misfit(sc Scenario, i Issue) string {
	if slices.ContainsFunc(sc.Expected, func(want Expected) bool { return want.may(i) }) {
		return "a duplicate"
	}
	return "spam"
}

func (want Expected) faults(i Issue) []string {
	var faults []string
	fault := func(format string, args ...any) {
		faults = append(faults, i.words()+" "+fmt.Sprintf(format, args...))
	}
	if !slices.Contains(want.Kind, i.Kind) {
		fault("is no %v", want.Kind)
	}
	if !slices.Contains(want.Final, i.Status) {
		fault("is %s, want %v", i.Status, want.Final)
	}
	for _, typ := range want.Link {
		if !i.linked(typ) {
			fault("has no link %s", typ)
		}
	}
	if want.NoLink != "" && i.linked(want.NoLink) {
		fault("has a link %s", want.NoLink)
	}
	for _, l := range want.Labels {
		if !slices.Contains(i.Labels, l) {
			fault("has no label %s", l)
		}
	}
	for _, l := range want.NoLabels {
		if slices.Contains(i.Labels, l) {
			fault("has the label %s", l)
		}
	}
	if want.Title != "" && i.Title != want.Title {
		fault("should be called %q", want.Title)
	}
	if want.All {
		for _, id := range want.Covers {
			if !slices.Contains(i.Events, id) {
				fault("does not cover %s", id)
			}
		}
	}
	return faults
}

func (i Issue) linked(typ string) bool {
	for _, l := range i.Links {
		if l.Type == typ {
			return true
		}
	}
	return false
}

func (i Issue) words() string {
	title := i.Title
	if r := []rune(title); len(r) > 60 {
		title = string(r[:60]) + "…"
	}
	return fmt.Sprintf("%s issue %q of %s, of %s,", i.Kind, title, i.Tenant, some(i.Events))
}

func some(ids []string) string {
	if len(ids) > 3 {
		return fmt.Sprintf("%s … %s (%d)", ids[0], ids[len(ids)-1], len(ids))
	}
	return fmt.Sprint(ids)
}
