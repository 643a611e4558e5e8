package auditor

import (
	"slices"
	"testing"
)

// Each short id in a list names its run, or an older run of which the list does not know.
func TestStartsRun(t *testing.T) {
	runs := []string{"session-1", "session-1/a", "session-1/ab", "session-2", "other/x/y"}
	for name, want := range map[string][]string{
		"":            nil,
		"session":     {"session-1", "session-2"},
		"session-2":   {"session-2"},
		"session-1/a": {"session-1/a", "session-1/ab"},
		"s/ab":        {"session-1/ab"},
		"o/x":         {"other/x/y"},
		"session-1/":  {"session-1/a", "session-1/ab"},
	} {
		got := slices.DeleteFunc(slices.Clone(runs), func(run string) bool { return !startsRun(run, name) })
		if !slices.Equal(got, want) && len(got)+len(want) > 0 {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}
