package hooktrail

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// The table of rights in docs/operations.md has exactly the rights of the services.
func TestDocs_Rights(t *testing.T) {
	doc := readDoc(t, "docs/operations.md")
	_, doc, _ = strings.Cut(doc, "\n| user | publishes to |")
	table, _, _ := strings.Cut(doc, "\n\n")
	documented := map[subjects.Role][]string{}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 4 || strings.HasPrefix(cells[1], "---") {
			continue
		}
		for _, role := range subjects.Roles() {
			name := "`" + string(role) + "`"
			all := strings.Contains(cells[1], "all but")
			if strings.Contains(cells[1], name) == all {
				continue
			}
			for _, m := range regexp.MustCompile("`([_$h][^`]*[.][^`]*)`").FindAllStringSubmatch(cells[2]+cells[3], -1) {
				documented[role] = append(documented[role], strings.ReplaceAll(m[1], "NAME", string(role)))
			}
		}
	}
	for _, role := range subjects.Roles() {
		r := subjects.RoleRights(subjects.Space{}, role, string(role), broker.ExternalInbox(role))
		want := slices.Sorted(slices.Values(append(r.Publish, r.Subscribe...)))
		got := slices.Sorted(slices.Values(documented[role]))
		if !slices.Equal(got, want) {
			t.Errorf("%s: documented are\n%s\nneeded are\n%s", role, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
