package auditor

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// speed is how fast events come compared with how they happened; 0 is as fast
// as possible. It is a flag: "1x", "0.5x", "max".
type speed float64

const maxSpeed = "max"

// String returns what [speed.Set] reads.
func (s *speed) String() string {
	if *s == 0 {
		return maxSpeed
	}
	return strconv.FormatFloat(float64(*s), 'g', -1, 64) + "x"
}

// Set reads a speed.
func (s *speed) Set(text string) error {
	if text == maxSpeed {
		*s = 0
		return nil
	}
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "x"), 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("%q is no speed; want 1x, 0.5x, 10x or %s", text, maxSpeed)
	}
	*s = speed(v)
	return nil
}

// Type names the flag's type.
func (s *speed) Type() string { return "speed" }

// pacer waits between events as they came, at its speed.
type pacer struct {
	speed speed
	flush func() error // called before each wait

	begun time.Time // when the first event was sent
	first time.Time // when it happened
}

// wait returns when an event that happened at t is due. What is older than the
// first one, or has no time, is due at once: clocks differ, the order does not.
func (p *pacer) wait(ctx context.Context, t time.Time) error {
	if p.speed == 0 || t.IsZero() {
		return nil
	}
	if p.first.IsZero() {
		p.begun, p.first = time.Now(), t
		return nil
	}
	after := float64(t.Sub(p.first)) / float64(p.speed)
	left := time.Duration(min(after, math.MaxInt64/2)) - time.Since(p.begun)
	if left <= 0 {
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
