package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// Progress is the bar of long work. It is drawn only on a terminal, at most
// ten times a second. Its methods may be called concurrently, and on a nil
// Progress, which draws nothing.
type Progress struct {
	w     io.Writer
	label string
	now   func() time.Time

	mu    sync.Mutex // guards drawn, and keeps lines whole
	drawn time.Time  // when; zero is never
}

const (
	barWidth      = 30
	barInterval   = 100 * time.Millisecond
	clearLine     = "\r\x1b[K"
	barDone       = "█"
	barLeft       = "░"
	percentOfDone = 100
)

// NewProgress returns a bar on w, which is stderr: nil when that is no terminal
// or one that cannot take a line away again.
func NewProgress(w io.Writer, label string) *Progress {
	if !IsTerminal(w) || os.Getenv("TERM") == dumb {
		return nil
	}
	return &Progress{w: w, label: label, now: time.Now}
}

// Set draws the bar with done of total. A total of 0 is unknown.
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

// Finish takes the bar away.
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
