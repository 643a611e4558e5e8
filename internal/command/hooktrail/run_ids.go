package hooktrail

import (
	"iter"
	"slices"
	"strings"
)

const leastID = 8

type shortIDs struct{ sessions, agents []string } // sorted

func newShortIDs(lists ...iter.Seq[string]) *shortIDs {
	var s shortIDs
	for _, runs := range lists {
		for run := range runs {
			session, agent, _ := strings.Cut(run, "/")
			s.sessions, s.agents = append(s.sessions, session), append(s.agents, agent)
		}
	}
	slices.Sort(s.sessions)
	slices.Sort(s.agents)
	s.sessions, s.agents = slices.Compact(s.sessions), slices.Compact(s.agents)
	return &s
}

func (s *shortIDs) add(run string) {
	session, agent, _ := strings.Cut(run, "/")
	s.sessions, s.agents = inserted(s.sessions, session), inserted(s.agents, agent)
}

func inserted(names []string, name string) []string {
	i, known := slices.BinarySearch(names, name)
	if known {
		return names
	}
	return slices.Insert(names, i, name)
}

func (s *shortIDs) of(run string) string {
	session, agent, isSub := strings.Cut(run, "/")
	if session = shortest(s.sessions, session); isSub {
		return session + "/" + shortest(s.agents, agent)
	}
	return session
}

func shortest(names []string, name string) string {
	same := 0
	i, _ := slices.BinarySearch(names, name)
	for _, near := range []int{i - 1, i + 1} {
		if near >= 0 && near < len(names) {
			same = max(same, commonRunes(name, names[near]))
		}
	}
	runes := []rune(name)
	return string(runes[:min(len(runes), max(leastID, same+1))])
}

func commonRunes(a, b string) (n int) {
	x, y := []rune(a), []rune(b)
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return n
}
