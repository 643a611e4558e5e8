package replay

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

// maxFaults bounds how many bad lines are told. All are counted.
const maxFaults = 100

// Faults are the lines of an input that are no events. The zero value is none.
type Faults struct {
	count int
	lines []string // the first of them: file:line:column: reason
}

// add notes err if it is about one line, so that the rest can go on.
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

// Err returns an error that tells all faults, nil if there are none.
func (f *Faults) Err() error {
	if f.count == 0 {
		return nil
	}
	text := strings.Join(f.lines, "\n")
	if more := f.count - len(f.lines); more > 0 {
		text += fmt.Sprintf("\n… and %d more", more)
	}
	if f.count == 1 {
		return fmt.Errorf("a line is no event as it is, all others were taken:\n%s", text)
	}
	return fmt.Errorf("%d lines are no events as they are, all others were taken:\n%s", f.count, text)
}
