package store

import "github.com/hooktrail/hooktrail/internal/tracking/rules"

// Erased is stored in place of each text that was erased on request.
const Erased = "erased"

// EraseReasons replaces the texts of a decision with [Erased]. It keeps ids, times, rules and
// counters.
func EraseReasons(d *rules.Decision) { d.Reason, d.Flip = Erased, "" }

// EraseEffect replaces the texts of an effect with [Erased]. If the effect creates an issue, it
// also replaces the title and description of this issue.
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
