package store

import "github.com/hooktrail/hooktrail/internal/tracking/rules"

// Erased replaces texts that an order erased.
const Erased = "erased"

// EraseReasons erases the texts of a decision. Ids, times, rules and counters stay.
func EraseReasons(d *rules.Decision) { d.Reason, d.Flip = Erased, "" }

// EraseEffect erases the texts of an effect and of the issue that it creates.
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
