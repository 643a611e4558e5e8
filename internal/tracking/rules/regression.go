package rules

import "strconv"

// lineageIssue is the id of the issue that follows a generation of a lineage.
func lineageIssue(tenant, lineage string, generation int) string {
	return ID(tenant, "lineage", lineage, strconv.Itoa(generation))
}

// failureIssue is the id of the issue about a generation of a failure.
func failureIssue(tenant, failure string, generation int) string {
	return ID(tenant, "failure", failure, strconv.Itoa(generation))
}

func followupIssue(tenant, followup string, generation int) string {
	return ID(tenant, "followup", followup, strconv.Itoa(generation))
}

// outlived reports whether a failure of now comes so long after the issue was
// closed that it is another one.
func (f *fold) outlived(id string) bool {
	issue := all.get(f.state, f.tenant, id)
	if issue == nil || issue.Status != Closed || f.stamp.At.Sub(issue.Closed) <= f.config.Regression {
		return false
	}
	return !f.notPlanned(courses.get(f.state, f.tenant, id))
}

// renew begins a new generation of a lineage if run is the first after its issue
// was closed for long.
func (f *fold) renew(id string, run *Run) {
	l := lineages.edit(f.state, f.tenant, id)
	if l.Issue != "" && f.outlived(l.Issue) {
		*l = Lineage{
			Type: l.Type, Root: l.Root, Generation: l.Generation + 1, Before: l.Issue, Created: l.Created, Seen: l.Seen,
		}
	}
	run.Generation = l.Generation
}
