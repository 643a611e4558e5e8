package rules

import (
	"slices"

	"github.com/hooktrail/hooktrail/internal/tracking/deferred"
)

// maxBundled bounds the items that a run's bundle carries.
const maxBundled = 200

// bundle notes item in the run's bundle, once.
func (f *fold) bundle(item string) {
	run := f.run()
	if run.Bundle == "" && !f.makeBundle(run) {
		return
	}
	f.occur(run.Bundle)
	key := deferred.Key(item)
	i, noted := slices.BinarySearch(run.Bundled, key)
	if noted || len(run.Bundled) >= maxBundled {
		return
	}
	run.Bundled = slices.Insert(run.Bundled, i, key)
	f.count("bundled", len(run.Bundled), maxBundled)
	f.note(run.Bundle, clean(item, 300))
}

// makeBundle makes the run's bundle, or lists it where there is no room.
func (f *fold) makeBundle(run *Run) bool {
	if f.escalated(run.ID) {
		return false
	}
	title := f.runTitle(run.Type, run.ID) + ": more that was left over"
	if !f.roomTogether() {
		run.Bundle, _ = f.list(title)
		return true
	}
	run.Bundle = ID(f.tenant, "bundle", run.ID)
	f.create(Issue{
		ID: run.Bundle, Kind: Followup, Status: Open, Title: title,
		Description: "What the run left over beyond the follow-ups of its own, one comment each.",
	}, course{Out: f.out(run.ID)})
	f.linkToRun(run.Bundle)
	return true
}
