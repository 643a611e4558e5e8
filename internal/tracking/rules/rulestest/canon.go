package rulestest

import (
	"fmt"
	"slices"
	"strings"
)

// Likeness selects the properties of issues that [Canon] compares.
type Likeness struct {
	Titles      bool
	Transitions bool // all statuses of an issue instead of only the last one
}

// Canon returns one line for each issue of an outcome, sorted and without ids and times. Two
// outcomes are alike if their lines are equal.
func Canon(o Outcome, like Likeness) []string {
	names := make(map[string]string)
	for _, i := range o.Issues {
		names[i.ID] = fmt.Sprintf("%s of %s", i.Kind, some(i.Events))
	}
	canon := make([]string, 0, len(o.Issues))
	for _, i := range o.Issues {
		ids := slices.Sorted(slices.Values(i.Events))
		line := []string{i.Tenant, i.Kind, i.Status, strings.Join(ids, " "), strings.Join(slices.Sorted(slices.Values(i.Labels)), " ")}
		var links []string
		for _, l := range i.Links {
			links = append(links, l.Type+" "+names[l.ID])
		}
		slices.Sort(links)
		line = append(line, links...)
		if like.Titles {
			line = append(line, i.Title)
		}
		if like.Transitions {
			for _, t := range i.Transitions {
				line = append(line, t.To)
			}
		}
		canon = append(canon, strings.Join(line, " | "))
	}
	slices.Sort(canon)
	return canon
}
