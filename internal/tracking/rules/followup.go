package rules

import (
	"fmt"
	"slices"

	"github.com/hooktrail/hooktrail/internal/tracking/deferred"
)

// followup is work that was left over: one item at one target, whoever left it.
type followup struct {
	Title      string `json:"title"`
	Target     string `json:"target,omitempty"`
	Key        string `json:"key"`
	Generation int    `json:"generation,omitempty"`
	Issue      string `json:"issue,omitempty"`
	Digest     string `json:"digest,omitempty"` // where it is listed for want of room
	Entry      int    `json:"entry,omitempty"`  // of the digest
	Run        string `json:"run,omitempty"`    // that it was made for
	Remaining  bool   `json:"remaining,omitempty"`
	Sources    int    `json:"sources,omitempty"`  // steps and ends of runs that leave it over
	Last       Stamp  `json:"last,omitzero"`      // the latest that did
	Done       fact   `json:"done,omitzero"`      // when it was said to be done
	Withdrawn  fact   `json:"withdrawn,omitzero"` // when nothing left it over any more
}

var followups = table[followup]{kind: "followup"}

func followupKey(tenant, target, item string) string { return ID(tenant, "item", target, item) }

func (u *followup) follower() string {
	if u.Issue != "" {
		return u.Issue
	}
	return u.Digest
}

// status returns where the issue of a follow-up stands.
func (u *followup) status() (Status, string) {
	switch {
	case u.Sources == 0:
		return Closed, "Withdrawn: a later report no longer leaves this over"
	case u.Last.before(u.Done.Stamp):
		return Closed, "A later summary says that it is done"
	}
	return Open, "Left over again"
}

// leftover is what a step, or the run's end, left over.
type leftover struct {
	Step      string   `json:"step,omitempty"` // its key; "" is the run's end
	Name      string   `json:"name"`           // for people
	Target    string   `json:"target,omitempty"`
	Partial   bool     `json:"partial,omitempty"`   // there was partial success
	Remaining []string `json:"remaining,omitempty"` // items of partial success
	Deferred  []string `json:"deferred,omitempty"`  // items of deferred work
}

// leftovers takes in what the source may have left over, by its metadata and its
// summary. Where the event is held, that is decided with it.
func (f *fold) leftovers(from leftover, metadata map[string]any, summary string) {
	if from.Target == "" {
		from.Target = f.run().Target
	}
	from.Remaining, from.Partial = remainingItems(metadata)
	from.Deferred = deferredItems(metadata, summary)
	if from.Partial && len(from.Remaining) == 0 {
		// Nobody listed what remains: the summary may.
		from.Remaining, from.Deferred = from.Deferred, nil
	}
	if from.Partial && len(from.Remaining) == 0 && f.nothingNamed(from) {
		from.Remaining = []string{f.unnamedItem(from, summary)}
	}
	if f.held != "" {
		helds.edit(f.state, f.tenant, f.held).Left = &from
		return
	}
	f.leave(from)
}

// leave makes a follow-up per item that was left over, up to the limits per run;
// the rest goes into one bundle. What an earlier version of the source had left
// over and this one no longer does is withdrawn.
func (f *fold) leave(from leftover) {
	if from.Partial {
		f.say("partial success", "partial success left "+items(len(from.Remaining)))
	}
	if len(from.Deferred) > 0 {
		f.say("deferred work", "work was deferred: "+items(len(from.Deferred)))
	}
	had := *f.left(from)
	var kept []string
	for _, item := range from.Remaining {
		kept = f.leaveItem(from, item, true, had, kept)
	}
	for _, item := range from.Deferred {
		kept = f.leaveItem(from, item, false, had, kept)
	}
	if len(from.Remaining)+len(from.Deferred) > 0 {
		f.count("remaining", f.run().Remaining, f.config.Remaining)
		f.count("followups", f.run().Deferred, f.config.Followups)
		f.decision.Flip = "a report that leaves nothing over"
	}
	for _, id := range had {
		if !slices.Contains(kept, id) {
			f.withdraw(id)
		}
	}
	*f.left(from) = kept
}

// left returns where the follow-ups are kept that the source leaves over.
func (f *fold) left(from leftover) *[]string {
	if from.Step == "" {
		return &f.run().Left
	}
	return &steps.edit(f.state, f.tenant, stepID(f.event.Run, from.Step)).Left
}

// items returns how many there are, for people.
func items(n int) string {
	if n == 1 {
		return "1 item"
	}
	return fmt.Sprintf("%d items", n)
}

// nothingNamed reports whether partial success of from needs an item of its
// own: the run's end only sums up what its steps left over already.
func (f *fold) nothingNamed(from leftover) bool {
	return from.Step != "" || f.run().Remaining+f.run().Deferred == 0
}

// unnamedItem stands for what partial success left over without saying what.
func (f *fold) unnamedItem(from leftover, summary string) string {
	item := "Finish what " + from.Name + " of run " + clean(f.event.Run, 120) + " left over"
	if s := firstSentence(summary); s != "" {
		item += ": " + s
	}
	return item
}

// leaveItem takes in that item was left over, and adds its follow-up to kept. had are
// those that the source left over before.
func (f *fold) leaveItem(from leftover, item string, remaining bool, had, kept []string) []string {
	id := followupKey(f.tenant, from.Target, deferred.Key(item))
	if slices.Contains(kept, id) {
		return kept
	}
	u := followups.edit(f.state, f.tenant, id)
	if u.Key == "" {
		u.Title, u.Target, u.Key = clean(item, 300), from.Target, deferred.Key(item)
	}
	known := f.isOpen(u.follower()) || u.Issue != "" && !f.outlived(u.Issue)
	if !known && f.stamp.before(u.Done.Stamp) {
		f.say("done before", "a later summary says that it is done")
		return kept
	}
	if n, limit := f.class(remaining); !known && *n >= limit {
		f.bundle(item)
		return kept
	}
	if !slices.Contains(had, id) {
		u.Sources++
	}
	u.Last = u.Last.later(f.stamp)
	if known {
		f.leaveAgain(id, u)
	} else {
		f.makeFollowup(id, u, from, remaining)
	}
	return append(kept, id)
}

// class returns the count of a class of follow-ups, what remains of partial
// success or deferred work, and its limit per run.
func (f *fold) class(remaining bool) (n *int, limit int) {
	if remaining {
		return &f.run().Remaining, f.config.Remaining
	}
	return &f.run().Deferred, f.config.Followups
}

// leaveAgain adds the event to a follow-up that there is, which comes back if it
// was closed.
func (f *fold) leaveAgain(id string, u *followup) {
	if u.Issue == "" {
		f.listAgain(u.Digest, u.Entry)
		return
	}
	f.occur(u.Issue)
	f.linkToRun(u.Issue)
	f.settleFollowup(id, u)
}

// makeFollowup makes the issue of a follow-up, or lists it where there is no room.
func (f *fold) makeFollowup(id string, u *followup, from leftover, remaining bool) {
	n, _ := f.class(remaining)
	*n++
	u.Run, u.Remaining = f.event.Run, remaining
	before := u.Issue
	if before != "" {
		u.Generation++
		u.Issue = ""
	}
	if f.escalated(f.event.Run) {
		return
	}
	if !f.roomTogether() {
		u.Digest, u.Entry = f.list(u.Title)
		return
	}
	u.Issue, u.Digest = followupIssue(f.tenant, id, u.Generation), ""
	f.create(Issue{
		ID: u.Issue, Kind: Followup, Status: Open, Title: u.Title,
		Description: sentence(fmt.Sprintf("%s of run %s left this over", from.Name, clean(f.event.Run, 300))) + ".",
	}, course{Followup: id, Out: f.out(f.event.Run)})
	f.index(id, u)
	f.linkToRun(u.Issue)
	if before != "" {
		f.link(u.Issue, Link{RegressionOf, before})
	}
}

// roomTogether takes a slot for a follow-up. Those of one event are admitted
// together: what was left over is one thing to a person.
func (f *fold) roomTogether() bool {
	if f.admitted == nil {
		f.admitted = new(f.room(false))
	} else if *f.admitted {
		t := f.clock()
		t.Created = append(t.Created, f.now)
	}
	return *f.admitted
}

// settleFollowup brings the issue of a follow-up to where the facts say.
func (f *fold) settleFollowup(id string, u *followup) {
	to, reason := u.status()
	if f.isOpen(u.Issue) != (to != Closed) {
		f.move(u.Issue, to, motive{reason: reason, recurs: true, run: runs.get(f.state, f.tenant, f.event.Run)})
	}
	if f.isOpen(u.Issue) {
		f.index(id, u)
	} else {
		f.forget(id, u)
	}
}

// withdraw takes back that the source leaves a follow-up over.
func (f *fold) withdraw(id string) {
	u := followups.edit(f.state, f.tenant, id)
	u.Sources = max(u.Sources-1, 0)
	if u.Sources == 0 {
		u.Withdrawn = u.Withdrawn.latest(fact{f.stamp, f.event.Run})
	}
	if u.Sources > 0 || u.Issue == "" {
		return
	}
	if u.Run == f.event.Run {
		n, _ := f.class(u.Remaining)
		*n = max(*n-1, 0)
	}
	f.say("withdrawn", "a later report no longer leaves "+u.Issue+" over")
	f.settleFollowup(id, u)
}

// maxFollowups bounds the follow-ups that wait for an issue of their lineage.
const maxFollowups = 50

// linkToRun links the follow-up id to the issue of its run, now or when there is
// one.
func (f *fold) linkToRun(id string) {
	l := f.lineage()
	own := l.Issue
	if own == "" {
		own = f.failureOfRun(f.run())
	}
	if own != "" {
		f.link(id, Link{DiscoveredFrom, own})
	}
	if l.Issue == "" && len(l.Followups) < maxFollowups && !slices.Contains(l.Followups, id) {
		l.Followups = append(l.Followups, id)
	}
}
