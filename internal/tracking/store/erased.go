package store

import "github.com/hooktrail/hooktrail/internal/tracking/rules"

// Erased stands in the place of a text that was erased by order.
const Erased = "erased"

// EraseReasons takes the texts out of a decision: ids, times, rules and counters
// stay.
func EraseReasons(d *rules.Decision) { d.Reason, d.Flip = Erased, "" }

// EraseEffect takes the texts out of an effect, and out of the issue that it makes.
func EraseEffect(f *rules.Effect) {
	if f.Issue != nil {
		made := *f.Issue
		made.Title, made.Description, made.Reason = Erased, "", erasedIf(made.Reason)
		f.Issue = &made
	}
	f.Reason, f.Text = erasedIf(f.Reason), erasedIf(f.Text)
}

func erasedIf(text string) string {
	if text == "" {
		return ""
	}
	return Erased
}
