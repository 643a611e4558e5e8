package replay

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

const maxFaults = 100

// Faults collects input lines that are not valid events. The zero value is empty.
type Faults struct {
	count int
	lines []string // first ones, as file:line:column: reason
}

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

// Err returns an error that lists the lines that are not valid events. It returns nil if there are
// none.
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
