package rules

import (
	"slices"

	"github.com/hooktrail/hooktrail/internal/tracking/deferred"
)

const maxBundled = 200

type bundles struct {
	draft    *draft
	journal  *journal
	digests  *digests
	limiter  *limiter
	tracking *tracking
	loops    *loopGuard
}

func (b *bundles) add(item string) {
	d := b.draft
	run := d.run()
	if run.Bundle == "" && !b.create(run) {
		return
	}
	b.journal.occur(run.Bundle)
	key := deferred.Key(item)
	i, found := slices.BinarySearch(run.Bundled, key)
	if found || len(run.Bundled) >= maxBundled {
		return
	}
	run.Bundled = slices.Insert(run.Bundled, i, key)
	d.count("bundled", len(run.Bundled), maxBundled)
	b.journal.note(run.Bundle, clean(item, 300))
}

func (b *bundles) create(run *Run) bool {
	d := b.draft
	if b.loops.escalated(run.ID) {
		return false
	}
	title := runTitle(d.config, run.Type, run.ID) + ": more that was left over"
	if !b.limiter.allowFollowup() {
		run.Bundle, _ = b.digests.add(title)
		return true
	}
	run.Bundle = ID(d.tenant, "bundle", run.ID)
	b.journal.create(Issue{
		ID: run.Bundle, Kind: Followup, Status: Open, Title: title,
		Description: "What the run left over beyond the follow-ups of its own, one comment each.",
	}, course{Out: b.loops.origin(run.ID)})
	b.tracking.linkFollowup(run.Bundle)
	return true
}
