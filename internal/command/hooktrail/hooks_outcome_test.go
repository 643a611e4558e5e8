package hooktrail

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// A long failure does not push the next column out of sight.
func TestWriteOutcome_LongFailure(t *testing.T) {
	var text bytes.Buffer
	writeOutcome(&text, &tried{DocumentOutcome: hooks.DocumentOutcome{Executions: []hooks.Execution{{Name: "checks", Error: "exit status 3: " + strings.Repeat("é\n", 500)}}}})
	for line := range strings.Lines(text.String()) {
		if utf8.RuneCountInString(line) > 100 {
			t.Errorf("got a line of %d characters", utf8.RuneCountInString(line))
		}
	}
	if !strings.Contains(text.String(), "failed: exit status 3: é") {
		t.Errorf("got %s", text.String())
	}
}
