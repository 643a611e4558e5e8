package issues

import (
	"fmt"
	"slices"
	"strings"
)

// leftover is what a step, or the run's end, may have left over.
type leftover struct {
	source   string // key of the step; "" is the run's end
	name     string // for people
	metadata map[string]any
	summary  string
}

// leftovers makes a follow-up per item that was left over: without limit but
// the guard for what partial success names, and up to the limit per run for
// deferred work, the rest of which goes into one bundle. What an earlier
// version of the source had left over and this one no longer does is withdrawn.
func (f *fold) leftovers(from leftover) {
	remaining, partial := remainingItems(from.metadata)
	deferred := deferredItems(from.metadata, from.summary)
	if partial && len(remaining) == 0 {
		// Nobody listed what remains: the summary may.
		remaining, deferred = deferred, nil
	}
	if partial && len(remaining) == 0 && f.nothingNamed(from) {
		remaining = []string{f.unnamedItem(from)}
	}
	kept := make(map[string]bool)
	if partial {
		f.say("partial success", "partial success left "+items(len(remaining)))
	}
	for _, item := range remaining {
		kept[f.followup(from, item, true)] = true
	}
	if len(deferred) > 0 {
		f.say("deferred work", "work was deferred: "+items(len(deferred)))
	}
	for _, item := range deferred {
		kept[f.followup(from, item, false)] = true
	}
	if len(kept) > 0 {
		f.count("remaining", f.view.Run.Left, f.config.Remaining)
		f.count("followups", f.view.Run.Deferred, f.config.Followups)
		f.decision.Flip = "a report that leaves nothing over"
	}
	f.withdraw(from, kept)
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
	return from.source != "" || f.view.Run.Left+f.view.Run.Deferred == 0
}

// unnamedItem stands for what partial success left over without saying what.
func (f *fold) unnamedItem(from leftover) string {
	item := "Finish what " + from.name + " of run " + clean(f.event.Run, 120) + " left over"
	if s := firstSentence(from.summary); s != "" {
		item += ": " + s
	}
	return item
}

// followup makes the follow-up for item, or adds the event to it. Beyond the
// limit of its class, what remains of partial success or deferred work, it goes
// into the run's bundle. It returns the id of the issue.
func (f *fold) followup(from leftover, item string, remaining bool) string {
	run := &f.view.Run
	id := followupID(run.Tenant, run.ID, itemKey(item))
	n, limit := f.class(remaining)
	if f.issue(id) != nil {
		f.again(id, from, remaining)
		return id
	}
	if *n >= limit {
		return f.bundle(id, item)
	}
	*n++
	f.create(Issue{
		ID: id, Kind: Followup, Status: Open, Title: clean(item, 300),
		Description: sentence(fmt.Sprintf("%s of run %s left this over", from.name, clean(run.ID, 300))) + ".",
		Sources:     []string{from.source}, Remaining: remaining,
	})
	f.linkToRun(id)
	return id
}

// class returns the count of a class of follow-ups, and its limit per run.
func (f *fold) class(remaining bool) (n *int, limit int) {
	if remaining {
		return &f.view.Run.Left, f.config.Remaining
	}
	return &f.view.Run.Deferred, f.config.Followups
}

// again adds the event to the follow-up id, which comes back if it was
// withdrawn.
func (f *fold) again(id string, from leftover, remaining bool) {
	issue := f.issue(id)
	if len(issue.Sources) == 0 {
		n, _ := f.class(remaining)
		*n++
		issue.Remaining = remaining
		f.move(id, Open, "Left over again")
	}
	f.touch(id)
	if !slices.Contains(issue.Sources, from.source) {
		issue.Sources = append(slices.Clone(issue.Sources), from.source)
	}
}

// maxBundled bounds the items that a run's bundle carries.
const maxBundled = 200

// bundle notes item in the run's bundle, once.
func (f *fold) bundle(itemID, item string) string {
	run := &f.view.Run
	id := bundleID(run.Tenant, run.ID)
	if f.issue(id) == nil {
		f.create(Issue{
			ID: id, Kind: Followup, Status: Open, Title: f.runTitle() + ": more that was left over",
			Description: "What the run left over beyond the follow-ups of its own, one comment each.",
		})
		f.linkToRun(id)
	}
	f.touch(id)
	i, noted := slices.BinarySearch(run.Bundled, itemID)
	if noted || len(run.Bundled) >= maxBundled {
		return id
	}
	run.Bundled = slices.Insert(run.Bundled, i, itemID)
	f.count("bundled", len(run.Bundled), maxBundled)
	f.effect(Effect{Op: OpNote, ID: id, At: f.stamp.At, Text: clean(item, 300)})
	return id
}

// withdraw closes the follow-ups that only an earlier version of from left over.
func (f *fold) withdraw(from leftover, kept map[string]bool) {
	for _, issue := range slices.Clone(f.view.Issues) {
		i := slices.Index(issue.Sources, from.source)
		if i < 0 || kept[issue.ID] {
			continue
		}
		p := f.issue(issue.ID)
		p.Sources = slices.Delete(slices.Clone(p.Sources), i, i+1)
		if len(p.Sources) > 0 {
			continue
		}
		n, _ := f.class(p.Remaining)
		*n--
		f.say("withdrawn", "a later report no longer leaves "+p.ID+" over")
		f.move(p.ID, Closed, "Withdrawn: a later report no longer leaves this over")
	}
}

// linkToRun links the follow-up id to the run's own issue, if there is one.
func (f *fold) linkToRun(id string) {
	if own := f.view.Run.Issue; own != "" {
		f.link(id, Link{Type: DiscoveredFrom, ID: own})
	}
}

func (f *fold) link(id string, link Link) {
	issue := f.issue(id)
	if issue == nil || slices.Contains(issue.Links, link) {
		return
	}
	issue.Links = append(slices.Clone(issue.Links), link)
	f.effect(Effect{Op: OpLink, ID: id, At: f.stamp.At, Link: &link})
}

// issue returns the issue of the run with this id, nil if there is none. The
// next insertion moves it.
func (f *fold) issue(id string) *Issue {
	i, found := findIssue(f.view.Issues, id)
	if !found {
		return nil
	}
	return &f.view.Issues[i]
}

func findIssue(issues []Issue, id string) (int, bool) {
	return slices.BinarySearchFunc(issues, id, func(issue Issue, id string) int { return strings.Compare(issue.ID, id) })
}

func insertIssue(issues []Issue, issue Issue) []Issue {
	i, found := findIssue(issues, issue.ID)
	if found {
		return issues
	}
	return slices.Insert(issues, i, issue)
}
