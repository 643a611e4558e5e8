package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hooktrail/hooktrail/internal/tracking/deferred"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/metadata"
)

type followupTracker struct {
	draft       *draft
	journal     *journal
	transitions *transitions
	digests     *digests
	limiter     *limiter
	grace       *graceQueue
	tracking    *tracking
	loops       *loopGuard
	bundles     *bundles
}

func (t *followupTracker) report(from leftover, meta map[string]any, summary string) {
	from.Target = cmp.Or(from.Target, t.draft.run().Target)
	from.Remaining, from.Partial = metadata.Remaining(meta)
	from.Deferred = metadata.Deferred(meta, summary)
	if from.Partial && len(from.Remaining) == 0 {
		from.Remaining, from.Deferred = from.Deferred, nil
	}
	if from.Partial && len(from.Remaining) == 0 && t.needsItem(from) {
		from.Remaining = []string{t.unnamedItem(from, summary)}
	}
	if t.draft.waiting != "" {
		t.grace.attach(from)
		return
	}
	t.leave(from)
}

func (t *followupTracker) needsItem(from leftover) bool {
	return from.Step != "" || t.draft.run().Remaining+t.draft.run().Deferred == 0
}

func (t *followupTracker) unnamedItem(from leftover, summary string) string {
	item := "Finish what " + from.Name + " of run " + clean(t.draft.event.Run, 120) + " left over"
	if s := metadata.FirstSentence(summary); s != "" {
		item += ": " + s
	}
	return item
}

func (t *followupTracker) leave(from leftover) {
	d := t.draft
	if from.Partial {
		d.say("partial success", "partial success left "+items(len(from.Remaining)))
	}
	if len(from.Deferred) > 0 {
		d.say("deferred work", "work was deferred: "+items(len(from.Deferred)))
	}
	before := *t.left(from)
	var now []string
	for _, item := range from.Remaining {
		now = t.leaveItem(from, item, true, before, now)
	}
	for _, item := range from.Deferred {
		now = t.leaveItem(from, item, false, before, now)
	}
	if len(from.Remaining)+len(from.Deferred) > 0 {
		d.count("remaining", d.run().Remaining, d.config.Remaining)
		d.count("followups", d.run().Deferred, d.config.Followups)
		d.flip("a report that leaves nothing over")
	}
	for _, id := range before {
		if !slices.Contains(now, id) {
			t.withdraw(id)
		}
	}
	*t.left(from) = now
}

func (t *followupTracker) left(from leftover) *[]string {
	if from.Step == "" {
		return &t.draft.run().Left
	}
	return &steps.edit(t.draft.records, stepID(t.draft.event.Run, from.Step)).Left
}

func (t *followupTracker) leaveItem(from leftover, item string, remaining bool, earlierIDs, ids []string) []string {
	d := t.draft
	key := deferred.Key(item)
	id := followupKey(d.tenant, from.Target, key)
	if slices.Contains(ids, id) {
		return ids
	}
	u := followups.edit(d.records, id)
	if u.Key == "" {
		u.Title, u.Target, u.Key = clean(item, 300), from.Target, key
	}
	exists := d.isOpen(u.follower()) || u.Issue != "" && !t.transitions.outlived(u.Issue)
	if !exists && d.stamp.before(u.Done.Stamp) {
		d.say("done before", "a later summary says that it is done")
		return ids
	}
	if n, limit := t.quota(remaining); !exists && *n >= limit {
		t.bundles.add(item)
		return ids
	}
	if !slices.Contains(earlierIDs, id) {
		u.Sources++
	}
	u.Last = u.Last.later(d.stamp)
	if exists {
		t.recur(id, u)
	} else {
		t.create(id, u, from, remaining)
	}
	return append(ids, id)
}

func (t *followupTracker) quota(remaining bool) (n *int, limit int) {
	if remaining {
		return &t.draft.run().Remaining, t.draft.config.Remaining
	}
	return &t.draft.run().Deferred, t.draft.config.Followups
}

func (t *followupTracker) recur(id string, u *followup) {
	if u.Issue == "" {
		t.digests.repeat(u.Digest, u.Entry)
		return
	}
	t.journal.occur(u.Issue)
	t.tracking.linkFollowup(u.Issue)
	t.settle(id, u)
}

func (t *followupTracker) create(id string, u *followup, from leftover, remaining bool) {
	d := t.draft
	n, _ := t.quota(remaining)
	*n++
	u.Run, u.Remaining = d.event.Run, remaining
	before := u.Issue
	if before != "" {
		u.Generation++
		u.Issue = ""
	}
	if t.loops.escalated(d.event.Run) {
		return
	}
	if !t.limiter.allowFollowup() {
		u.Digest, u.Entry = t.digests.add(u.Title)
		return
	}
	u.Issue, u.Digest = followupIssue(d.tenant, id, u.Generation), ""
	t.journal.create(Issue{
		ID: u.Issue, Kind: Followup, Status: Open, Title: u.Title,
		Description: sentence(fmt.Sprintf("%s of run %s left this over", from.Name, clean(d.event.Run, 300))) + ".",
	}, course{Followup: id, Out: t.loops.origin(d.event.Run)})
	indexFollowup(d.records, id, u)
	t.tracking.linkFollowup(u.Issue)
	if before != "" {
		t.journal.link(u.Issue, Link{RegressionOf, before})
	}
}

func (t *followupTracker) withdraw(id string) {
	d := t.draft
	u := followups.edit(d.records, id)
	u.Sources = max(u.Sources-1, 0)
	if u.Sources == 0 {
		u.Withdrawn = u.Withdrawn.latest(fact{d.stamp, d.event.Run})
	}
	if u.Sources > 0 || u.Issue == "" {
		return
	}
	if u.Run == d.event.Run {
		n, _ := t.quota(u.Remaining)
		*n = max(*n-1, 0)
	}
	d.say("withdrawn", "a later report no longer leaves "+u.Issue+" over")
	t.settle(id, u)
}

func (t *followupTracker) done(summary, target string) {
	d := t.draft
	target = cmp.Or(target, d.run().Target)
	for _, item := range deferred.Done(summary) {
		key := deferred.Key(item)
		found := false
		for _, target := range slices.Compact([]string{target, ""}) {
			id := followupKey(d.tenant, target, key)
			u := followups.edit(d.records, id)
			if u.Key == "" { // the report of the item may come later
				u.Title, u.Target, u.Key = clean(item, 300), target, key
			}
			found = t.finish(id, u) || found
		}
		if id := similarFollowup(d.records, key, target, d.config.DoneWords); !found && id != "" {
			t.finish(id, followups.edit(d.records, id))
		}
	}
	for _, item := range deferred.Claims(summary) {
		if id := similarFollowup(d.records, deferred.Key(item), target, d.config.DoneWords); id != "" {
			t.finish(id, followups.edit(d.records, id))
		}
	}
}

func (t *followupTracker) finish(id string, u *followup) bool {
	d := t.draft
	u.Done = u.Done.latest(fact{d.stamp, d.event.Run})
	if !d.isOpen(u.Issue) {
		return false
	}
	if status, _ := u.status(); status != Closed {
		return false
	}
	d.say("done", "the summary says that a follow-up is done")
	t.settle(id, u)
	t.loops.progress(u.Issue)
	return true
}

func (t *followupTracker) settle(id string, u *followup) {
	d := t.draft
	status, reason := u.status()
	if d.isOpen(u.Issue) != (status != Closed) {
		t.transitions.move(u.Issue, status, motive{reason: reason, recurs: true, run: runs.get(d.records, d.event.Run)})
	}
	if d.isOpen(u.Issue) {
		indexFollowup(d.records, id, u)
	} else {
		unindexFollowup(d.records, id, u)
	}
}

func items(n int) string {
	if n == 1 {
		return "1 item"
	}
	return fmt.Sprintf("%d items", n)
}
