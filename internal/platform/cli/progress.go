package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// Progress is a progress bar for concurrent use. A nil Progress draws nothing.
type Progress struct {
	w     io.Writer
	label string
	now   func() time.Time

	mu    sync.Mutex // guards drawn and writes to w
	drawn time.Time
}

const (
	barWidth      = 30
	barInterval   = 100 * time.Millisecond
	clearLine     = "\r\x1b[K"
	barDone       = "█"
	barLeft       = "░"
	percentOfDone = 100
)

// NewProgress returns a progress bar, or nil if w cannot clear a line.
func NewProgress(w io.Writer, label string) *Progress {
	if !IsTerminal(w) || os.Getenv("TERM") == dumb {
		return nil
	}
	return &Progress{w: w, label: label, now: time.Now}
}

// Set draws the progress bar, such as 3 of 10. Use 0 for an unknown total.
func (p *Progress) Set(done, total uint64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if !p.drawn.IsZero() && now.Sub(p.drawn) < barInterval && done != total {
		return
	}
	p.drawn = now
	fmt.Fprint(p.w, clearLine+bar(p.label, done, total))
}

// Finish clears the bar.
func (p *Progress) Finish() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.drawn.IsZero() {
		fmt.Fprint(p.w, clearLine)
	}
	p.drawn = time.Time{}
}

func bar(label string, done, total uint64) string {
	if total == 0 {
		return fmt.Sprintf("%s %d", label, done)
	}
	done = min(done, total)
	share := float64(done) / float64(total)
	full := int(share * barWidth)
	return fmt.Sprintf("%s %s%s %3.0f%% %d/%d", label,
		strings.Repeat(barDone, full), strings.Repeat(barLeft, barWidth-full),
		share*percentOfDone, done, total)
}
