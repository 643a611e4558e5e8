package runtree

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

type likeness struct{ tool, detail string }

func likenessOf(tool, detail string) likeness {
	return likeness{strings.Map(foldCase, tool), detail}
}

// foldCase returns the same character for all characters that [strings.EqualFold] treats as equal.
func foldCase(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

type unanswered struct {
	begun []*Row // calls that began before the last question, the latest last; of equal times, the first last
	later []*Row // other calls, by time
}

// Calls must be added in the order of time.
func (t *tracer) addUnanswered(row *Row) {
	key := likenessOf(row.Name, row.Detail)
	if t.alike[key] == nil {
		t.alike[key] = &unanswered{}
	}
	t.alike[key].later = append(t.alike[key].later, row)
}

// Questions must come in the order of time.
func (t *tracer) unansweredCall(x *fact, p call) *Row {
	u := t.alike[likenessOf(p.name, relative(p.detail, t.trace.Cwd))]
	if u == nil {
		return nil
	}
	u.begin(x.at)
	for len(u.begun) > 0 {
		if last := u.begun[len(u.begun)-1]; !last.answered {
			return last
		}
		u.begun = u.begun[:len(u.begun)-1]
	}
	return nil
}

func (u *unanswered) begin(until time.Time) {
	for len(u.later) > 0 && !u.later[0].Started.After(until) {
		same := 1
		for same < len(u.later) && u.later[same].Started.Equal(u.later[0].Started) {
			same++
		}
		first := len(u.begun)
		u.begun, u.later = append(u.begun, u.later[:same]...), u.later[same:]
		slices.Reverse(u.begun[first:])
	}
}
