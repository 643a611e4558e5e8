package replay

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

// maxFaults bounds the bad lines that an error lists. All of them are counted.
const maxFaults = 100

// Faults collects the lines of an input that are not valid events. The zero value has none.
type Faults struct {
	count int
	lines []string // first ones: file:line:column: reason
}

// add records err and returns true if it concerns a single line, so that the fold can continue.
func (f *Faults) add(err error) bool {
	line, ok := errors.AsType[*ingest.LineError](err)
	if !ok {
		return false
	}
	f.note(line.Error())
	return true
}

func (f *Faults) note(text string) {
	if f.count++; len(f.lines) < maxFaults {
		f.lines = append(f.lines, text)
	}
}

// Err returns an error that lists the faults, or nil if there are none.
func (f *Faults) Err() error {
	if f.count == 0 {
		return nil
	}
	text := strings.Join(f.lines, "\n")
	if more := f.count - len(f.lines); more > 0 {
		text += fmt.Sprintf("\n… and %d more", more)
	}
	if f.count == 1 {
		return fmt.Errorf("1 line is not an event, all others were replayed:\n%s", text)
	}
	return fmt.Errorf("%d lines are not events, all others were replayed:\n%s", f.count, text)
}
